package vec

import "fmt"

// panel is how many columns of a Weights lie together, and lanes how many rows are multiplied at once.
const (
	panel = 16
	lanes = 4
)

// Weights is a matrix of In rows and Out columns with a bias, laid out for Mul: panels of 16 columns, each row by row.
type Weights struct {
	In, Out int
	packed  []float32
	bias    []float32
}

// Pack lays a matrix (In rows of Out columns) out for Weights. Out is a multiple of 16.
func Pack(w []float32, in, out int) ([]float32, error) {
	if in <= 0 || out <= 0 || out%panel != 0 || len(w) != in*out {
		return nil, fmt.Errorf("a matrix of %d numbers is not one of %d by %d in columns of %d", len(w), in, out, panel)
	}
	packed := make([]float32, 0, len(w))
	for p := 0; p < out; p += panel {
		for k := range in {
			packed = append(packed, w[k*out+p:k*out+p+panel]...)
		}
	}
	return packed, nil
}

// NewWeights takes what Pack gave, and the bias of each column. Both are kept, not copied.
func NewWeights(packed, bias []float32, in, out int) (Weights, error) {
	if in <= 0 || out <= 0 || out%panel != 0 || len(packed) != in*out || len(bias) != out {
		return Weights{}, fmt.Errorf("%d weights and a bias of %d do not make a matrix of %d by %d", len(packed), len(bias), in, out)
	}
	return Weights{In: in, Out: out, packed: packed, bias: bias}, nil
}

// Panels is how many parts Mul can be divided into, for several goroutines.
func (w Weights) Panels() int { return w.Out / panel }

// Rows is n rounded up to what Mul works on at once.
func Rows(n int) int { return (n + lanes - 1) / lanes * lanes }

// Mul sets dst = a·w + bias for the columns of the panels from, ..., to-1. a has rows of In numbers and dst rows of Out, both as
// many as Rows(n) for n rows that matter. It allocates nothing. Parts may run at the same time.
func (w Weights) Mul(dst, a []float32, n, from, to int) {
	rows := Rows(n)
	if rows == 0 || from >= to {
		return
	}
	a, dst = a[:rows*w.In], dst[:rows*w.Out] // the only checks: what follows stays inside
	packed := w.packed[from*panel*w.In : to*panel*w.In]
	bias := w.bias[from*panel : to*panel]
	for p := range to - from {
		wp := packed[p*panel*w.In : (p+1)*panel*w.In]
		for r := 0; r < rows; r += lanes {
			mul4x16(w.In, a[r*w.In:(r+lanes)*w.In], wp, bias[p*panel:(p+1)*panel], dst[r*w.Out+(from+p)*panel:], w.Out)
		}
	}
}

// mulGo is mul4x16 in plain Go: four rows of a (k each) by one panel, in tiles of 4 by 2 that fit the registers.
func mulGo(k int, a, w, bias, dst []float32, ldc int) {
	a0 := a[:k]
	a1, a2, a3 := a[k : 2*k][:len(a0)], a[2*k : 3*k][:len(a0)], a[3*k : 4*k][:len(a0)]
	for j := 0; j < panel; j += 2 {
		b0, b1 := bias[j], bias[j+1]
		s00, s10, s20, s30 := b0, b0, b0, b0
		s01, s11, s21, s31 := b1, b1, b1, b1
		at := j
		for i, x0 := range a0 {
			x1, x2, x3 := a1[i], a2[i], a3[i]
			pair := (*[2]float32)(w[at:])
			at += panel
			w0, w1 := pair[0], pair[1]
			s00 += x0 * w0
			s01 += x0 * w1
			s10 += x1 * w0
			s11 += x1 * w1
			s20 += x2 * w0
			s21 += x2 * w1
			s30 += x3 * w0
			s31 += x3 * w1
		}
		dst[j], dst[j+1] = s00, s01
		dst[ldc+j], dst[ldc+j+1] = s10, s11
		dst[2*ldc+j], dst[2*ldc+j+1] = s20, s21
		dst[3*ldc+j], dst[3*ldc+j+1] = s30, s31
	}
}
