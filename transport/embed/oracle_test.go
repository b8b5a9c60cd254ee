package embed

import (
	"math"
	"strings"

	"golang.org/x/text/unicode/norm"
)

// oracle is the model written down as plainly as possible, to compare with: float64 sums, no packing, no groups.
type oracle struct {
	pieces []piece
	a      map[string][]float32
}

// cut is the original's tokenizer, word for word: every pair of places, the pieces in a map.
func (o oracle) cut(s string) []int32 {
	s = strings.Join(strings.Fields(norm.NFKC.String(strings.ToValidUTF8(s, "\uFFFD"))), " ")
	if s == "" {
		return nil
	}
	ids := map[string]int{}
	for i := reserved; i < len(o.pieces); i++ {
		ids[o.pieces[i].text] = i
	}
	chars := []rune("\u2581" + strings.ReplaceAll(s, " ", "\u2581"))
	n := len(chars)
	best, word := make([]float64, n+1), make([]int, n+1)
	for end := 1; end <= n; end++ {
		for start := range end {
			id, ok := ids[string(chars[start:end])]
			if !ok && (end-start > 1 || o.anyFrom(ids, chars, start)) {
				continue
			}
			if score := o.pieces[id].score*b2f(ok) + best[start]; best[end] == 0 || score >= best[end] {
				best[end], word[end] = score, id
			}
		}
	}
	var out []int32
	unknown := false
	for i := n; i > 0; i -= max(1, len([]rune(o.pieces[word[i]].text))) {
		if !unknown || word[i] != 0 {
			out = append([]int32{int32(word[i])}, out...)
		}
		unknown = word[i] == 0
	}
	return out[:min(len(out), 128)]
}

func b2f(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

func (o oracle) anyFrom(ids map[string]int, chars []rune, start int) bool {
	for end := start + 1; end <= len(chars); end++ {
		if _, ok := ids[string(chars[start:end])]; ok {
			return true
		}
	}
	return false
}

func (o oracle) mul(x [][]float64, name, bias string, in, out int) [][]float64 {
	w, b := o.a[name], o.a[bias]
	r := make([][]float64, len(x))
	for i := range x {
		r[i] = make([]float64, out)
		for j := range out {
			r[i][j] = float64(b[j])
		}
		for k := range in {
			for j, y := range w[k*out : (k+1)*out] {
				r[i][j] += x[i][k] * float64(y)
			}
		}
	}
	return r
}

func (o oracle) norm(x [][]float64, at string) [][]float64 {
	scale, bias := o.a[at+"layer_prepostprocess/layer_norm/layer_norm_scale"], o.a[at+"layer_prepostprocess/layer_norm/layer_norm_bias"]
	r := make([][]float64, len(x))
	for i, row := range x {
		var mean, v float64
		for _, y := range row {
			mean += y / float64(len(row))
		}
		for _, y := range row {
			v += (y - mean) * (y - mean) / float64(len(row))
		}
		for j, y := range row {
			r[i] = append(r[i], (y-mean)/math.Sqrt(v+1e-6)*float64(scale[j])+float64(bias[j]))
		}
	}
	return r
}

func plus(a, b [][]float64) [][]float64 {
	for i := range a {
		for j := range a[i] {
			a[i][j] += b[i][j]
		}
	}
	return a
}

func (o oracle) layer(l string, x [][]float64, d int) [][]float64 {
	rest := x
	if l == "Layer_0/" {
		rest = o.mul(x, l+"dense/kernel", l+"dense/bias", d, 512)
	}
	at := l + "MultiheadAttention/"
	qkv := o.mul(o.norm(x, l), at+"qkv_transform_single/kernel", at+"qkv_transform_single/bias", d, 3*d)
	mix := make([][]float64, len(x))
	for i := range x {
		mix[i] = make([]float64, d)
		for h := range 4 {
			head := h * d / 4
			weight, sum := make([]float64, len(x)), 0.0
			for j := range x {
				s := 0.0
				for t := range d / 4 {
					s += qkv[i][head+t] * qkv[j][d+head+t]
				}
				weight[j] = math.Exp(s / math.Sqrt(float64(d/4)))
				sum += weight[j]
			}
			for j := range x {
				for t := range d / 4 {
					mix[i][head+t] += weight[j] / sum * qkv[j][2*d+head+t]
				}
			}
		}
	}
	y := plus(o.mul(mix, at+"output_transform_single/kernel", at+"output_transform_single/bias", d, 512), rest)
	f := o.mul(o.norm(y, l+"FFN/"), l+"FFN/conv1/Tensordot/Reshape_1", l+"FFN/conv1/bias", 512, 1536)
	for i := range f {
		for j := range f[i] {
			f[i][j] = max(f[i][j], 0)
		}
	}
	return plus(o.mul(f, l+"FFN/conv2/Tensordot/Reshape_1", l+"FFN/conv2/bias", 1536, 512), y)
}

func (o oracle) vector(ids []int32) []float64 {
	x := make([][]float64, len(ids))
	for i, id := range ids {
		x[i] = make([]float64, 256)
		for j := range x[i] {
			x[i][j] = 2 * float64(o.a["Embeddings_en"][int(id)*256+j])
		}
		for j, f := range o.a["Layer_0/AddTimingSignal/TimingSignal/ExpandDims_1"] {
			x[i][j] += math.Sin(float64(i) * float64(f))
			x[i][128+j] += math.Cos(float64(i) * float64(f))
		}
	}
	x = o.layer("Layer_1/", o.layer("Layer_0/", x, 256), 512)
	pool := [][]float64{make([]float64, 512)}
	for i := range x {
		for j := range x[i] {
			pool[0][j] += x[i][j] / float64(len(x))
		}
	}
	out := o.mul(pool, "hidden_layers/tanh_layer_0/weights", "hidden_layers/tanh_layer_0/bias", 512, 512)[0]
	sum := 0.0
	for j := range out {
		out[j] = math.Tanh(out[j])
		sum += out[j] * out[j]
	}
	for j := range out {
		out[j] /= math.Sqrt(sum)
	}
	return out
}
