// Package vec owns fast arithmetic on vectors and matrices of float32: dot products, cosine, the nearest rows of a matrix, and the
// multiplication by fixed weights that small models run on. On amd64 with AVX2 and FMA it uses the processor's vector instructions
// (Go assembly, no C); elsewhere the same functions in plain Go. It keeps nothing.
package vec

import "math"

// Dot is the sum of a[i]*b[i]. Both have the same length; of different lengths the shorter counts.
func Dot(a, b []float32) float32 {
	n := min(len(a), len(b))
	if n == 0 {
		return 0
	}
	return dot(a[:n], b[:n])
}

// Axpy adds x times alpha to y. Of different lengths the shorter counts.
func Axpy(alpha float32, x, y []float32) {
	n := min(len(x), len(y))
	if n > 0 {
		axpy(alpha, x[:n], y[:n])
	}
}

// Norm is the length of a vector.
func Norm(a []float32) float32 { return float32(math.Sqrt(float64(Dot(a, a)))) }

// Cosine is the nearness of two vectors, from -1 to 1; 0 when one of them has no direction or their lengths differ.
func Cosine(a, b []float32) float32 {
	if len(a) != len(b) {
		return 0
	}
	n := Norm(a) * Norm(b)
	if n == 0 || math.IsInf(float64(n), 0) || math.IsNaN(float64(n)) {
		return 0
	}
	return min(1, max(-1, Dot(a, b)/n))
}

// Normalize gives a the length 1, so that Dot is the cosine. It is false, and a is unchanged, when a has no direction.
func Normalize(a []float32) bool {
	var sum float64
	for _, x := range a {
		sum += float64(x) * float64(x)
	}
	k := 1 / math.Sqrt(sum)
	if sum == 0 || math.IsInf(sum, 0) || math.IsNaN(sum) {
		return false
	}
	for i, x := range a {
		a[i] = float32(float64(x) * k)
	}
	return true
}

func dotGo(a, b []float32) float32 {
	var s0, s1, s2, s3 float32
	b = b[:len(a)]
	i := 0
	for ; i+4 <= len(a); i += 4 {
		x, y := a[i:i+4:i+4], b[i:i+4:i+4]
		s0 += x[0] * y[0]
		s1 += x[1] * y[1]
		s2 += x[2] * y[2]
		s3 += x[3] * y[3]
	}
	for ; i < len(a); i++ {
		s0 += a[i] * b[i]
	}
	return (s0 + s1) + (s2 + s3)
}

func axpyGo(alpha float32, x, y []float32) {
	y = y[:len(x)]
	for i, v := range x {
		y[i] += alpha * v
	}
}
