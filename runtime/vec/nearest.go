package vec

import (
	"cmp"
	"errors"
	"runtime"
	"slices"
	"sync"
)

// Hit is a row of a matrix and its nearness.
type Hit struct {
	Row   int
	Score float32
}

var errMatrix = errors.New("the matrix does not consist of whole rows of the query's length")

// aloneBelow is the number of multiplications for which a second goroutine does not pay.
const aloneBelow = 1 << 20

// Nearest gives the k rows of a matrix (one after the other, each as long as the query) whose dot product with the query is largest,
// best first, equal ones in the order of the rows. Of rows and a query of length 1 that is the cosine. Only rows that reach least
// are given, and keep, unless nil, leaves rows out; it may be asked from several goroutines. A row that is not a number is no hit.
func Nearest(query, matrix []float32, k int, least float32, keep func(row int) bool) ([]Hit, error) {
	dim := len(query)
	if dim == 0 || len(matrix)%dim != 0 {
		return nil, errMatrix
	}
	rows := len(matrix) / dim
	k = min(k, rows)
	if k <= 0 {
		return nil, nil
	}
	parts := 1
	if len(matrix) > aloneBelow {
		parts = min(runtime.GOMAXPROCS(0), 8)
	}
	found := make([]best, parts)
	search := func(p int) {
		found[p].k = k
		for row := rows * p / parts; row < rows*(p+1)/parts; row++ {
			if score := dot(matrix[row*dim:(row+1)*dim], query); score >= least && found[p].room(score) && (keep == nil || keep(row)) {
				found[p].add(Hit{row, score})
			}
		}
	}
	var wg sync.WaitGroup
	for p := 1; p < parts; p++ {
		wg.Go(func() { search(p) })
	}
	search(0)
	wg.Wait()
	var all []Hit
	for _, f := range found {
		all = append(all, f.hits...)
	}
	slices.SortFunc(all, func(a, b Hit) int { return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.Row, b.Row)) })
	return all[:min(k, len(all))], nil
}

// best is a heap of the k best hits, the worst on top. Rows come in growing order, so of equals the later is the worse.
type best struct {
	k    int
	hits []Hit
}

func (b *best) room(score float32) bool { return len(b.hits) < b.k || score > b.hits[0].Score }

func worse(a, b Hit) bool { return a.Score < b.Score || a.Score == b.Score && a.Row > b.Row }

func (b *best) add(h Hit) {
	if len(b.hits) < b.k {
		b.hits = append(b.hits, h)
		for i := len(b.hits) - 1; i > 0 && worse(b.hits[i], b.hits[(i-1)/2]); i = (i - 1) / 2 {
			b.hits[i], b.hits[(i-1)/2] = b.hits[(i-1)/2], b.hits[i]
		}
		return
	}
	b.hits[0] = h
	for i := 0; ; {
		c := 2*i + 1
		if c+1 < len(b.hits) && worse(b.hits[c+1], b.hits[c]) {
			c++
		}
		if c >= len(b.hits) || !worse(b.hits[c], b.hits[i]) {
			return
		}
		b.hits[i], b.hits[c] = b.hits[c], b.hits[i]
		i = c
	}
}
