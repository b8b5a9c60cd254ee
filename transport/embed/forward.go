package embed

import (
	"math"

	"sentient/runtime/vec"
)

// groupRows is how many pieces are computed together: enough that reading the weights costs little, few enough that someone who
// waits for the model waits some milliseconds.
const groupRows = maxPieces

// span is one text's rows.
type span struct{ from, to int }

// scratch is the memory of a computation, made once for groupRows rows.
type scratch struct {
	x, norm, mix, sum []float32 // Dim a row
	qkv, wide         []float32 // inner a row
	scores            []float32 // maxPieces by head and text row
	pool, out         []float32 // Dim a text
	ids               []int32
	spans             []span
}

func newScratch() *scratch {
	rows := vec.Rows(groupRows)
	return &scratch{x: make([]float32, rows*Dim), norm: make([]float32, rows*Dim), mix: make([]float32, rows*Dim), sum: make([]float32, rows*Dim),
		qkv: make([]float32, rows*inner), wide: make([]float32, rows*inner), scores: make([]float32, heads*rows*maxPieces),
		pool: make([]float32, rows*Dim), out: make([]float32, rows*Dim), ids: make([]int32, 0, rows), spans: make([]span, 0, rows)}
}

// runner divides work into parts that run at the same time. It returns when all are done.
type runner func(parts int, fn func(from, to int))

// forward computes the vectors of the texts whose pieces are in s: one of Dim numbers and length 1 for each span, in s.out.
func (w *weights) forward(s *scratch, run runner) {
	w.begin(s)
	rows := len(s.ids)
	for l := range w.block {
		w.block[l].forward(s, rows, run)
	}
	w.finish(s, run)
}

// begin sets s.x to what the first block reads: each piece's own vector twice (the original adds it to itself) and its place.
func (w *weights) begin(s *scratch) {
	for _, sp := range s.spans {
		for r := sp.from; r < sp.to; r++ {
			word := w.words[int(s.ids[r])*wordDim:][:wordDim]
			place := w.places[(r-sp.from)*wordDim:][:wordDim]
			x := s.x[r*wordDim:][:wordDim]
			for j := range x {
				x[j] = 2*word[j] + place[j]
			}
		}
	}
}

// forward is one transformer block, from s.x to s.x.
func (l *layer) forward(s *scratch, rows int, run runner) {
	normalize(s.norm, s.x, rows, l.dim, l.inScale, l.inBias)
	multiply(run, l.qkv, s.qkv, s.norm, rows)
	l.attend(s, run)
	multiply(run, l.out, s.sum, s.mix, rows)
	if l.project.In > 0 { // the input has fewer numbers than what is added to it
		multiply(run, l.project, s.norm, s.x, rows)
		add(s.sum, s.norm, rows*Dim)
	} else {
		add(s.sum, s.x, rows*Dim)
	}
	normalize(s.norm, s.sum, rows, Dim, l.ffScale, l.ffBias)
	multiply(run, l.widen, s.wide, s.norm, rows)
	for i, v := range s.wide[:rows*inner] {
		s.wide[i] = max(v, 0)
	}
	multiply(run, l.narrow, s.x, s.wide, rows)
	add(s.x, s.sum, rows*Dim)
}

func multiply(run runner, m linear, dst, a []float32, rows int) {
	run(m.Panels(), func(from, to int) { m.Mul(dst, a, rows, from, to) })
}

func add(dst, x []float32, n int) {
	x, dst = x[:n], dst[:n]
	for i, v := range x {
		dst[i] += v
	}
}

// normalize brings each row to a mean of 0 and a variance of 1, then scales and shifts it.
func normalize(dst, x []float32, rows, dim int, scale, bias []float32) {
	scale, bias = scale[:dim], bias[:dim]
	for r := range rows {
		in, out := x[r*dim:][:dim], dst[r*dim:][:dim]
		var a, b, c, d float32
		for i := 0; i+4 <= dim; i += 4 {
			q := (*[4]float32)(in[i:])
			a, b, c, d = a+q[0], b+q[1], c+q[2], d+q[3]
		}
		mean := (a + b + c + d) / float32(dim)
		a, b, c, d = 0, 0, 0, 0
		for i := 0; i+4 <= dim; i += 4 {
			q := (*[4]float32)(in[i:])
			e, f, g, h := q[0]-mean, q[1]-mean, q[2]-mean, q[3]-mean
			a, b, c, d = a+e*e, b+f*f, c+g*g, d+h*h
		}
		k := float32(1 / math.Sqrt(float64((a+b+c+d)/float32(dim))+1e-6))
		for i, v := range in {
			out[i] = (v-mean)*k*scale[i] + bias[i]
		}
	}
}

// attend mixes, within each text and head, the values of all pieces by how well they answer each piece's query: s.qkv to s.mix.
func (l *layer) attend(s *scratch, run runner) {
	rows := len(s.ids)
	run(heads*rows, func(from, to int) { // one part is one head of one row
		text := 0
		for i := from; i < to; i++ {
			head, r := i/rows, i%rows
			for s.spans[text].to <= r || s.spans[text].from > r {
				text = (text + 1) % len(s.spans)
			}
			l.attendRow(s, s.spans[text], head, r, s.scores[i*maxPieces:(i+1)*maxPieces])
		}
	})
}

func (l *layer) attendRow(s *scratch, sp span, head, r int, scores []float32) {
	d, stride := l.headDim, l.qkvStride
	q := s.qkv[r*stride+head*d:][:d]
	scores = scores[:sp.to-sp.from]
	most := float32(math.Inf(-1))
	for j := range scores {
		k := s.qkv[(sp.from+j)*stride+l.dim+head*d:][:d]
		scores[j] = vec.Dot(q, k) * l.scoreScale
		most = max(most, scores[j])
	}
	var sum float64
	for j, v := range scores {
		e := math.Exp(float64(v - most))
		sum += e
		scores[j] = float32(e)
	}
	mix := s.mix[r*l.dim+head*d:][:d]
	clear(mix)
	for j, e := range scores {
		vec.Axpy(float32(float64(e)/sum), s.qkv[(sp.from+j)*stride+2*l.dim+head*d:][:d], mix)
	}
}

// finish pools each text's rows and brings the result to length 1.
func (w *weights) finish(s *scratch, run runner) {
	for i, sp := range s.spans {
		pool := s.pool[i*Dim:][:Dim]
		clear(pool)
		for r := sp.from; r < sp.to; r++ {
			vec.Axpy(1/float32(sp.to-sp.from), s.x[r*Dim:][:Dim], pool)
		}
	}
	multiply(run, w.last, s.out, s.pool, len(s.spans))
	for i := range s.spans {
		out := s.out[i*Dim:][:Dim]
		for j, v := range out {
			out[j] = float32(math.Tanh(float64(v)))
		}
		vec.Normalize(out)
	}
}
