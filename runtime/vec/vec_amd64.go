package vec

import "golang.org/x/sys/cpu"

// hasVector is true where the assembly may run. It is set once, from the processor.
var hasVector = cpu.X86.HasAVX2 && cpu.X86.HasFMA

// dotAVX2 is the dot product of n numbers.
//
//go:noescape
func dotAVX2(a, b *float32, n int) float32

// axpyAVX2 adds alpha times n numbers at x to those at y.
//
//go:noescape
func axpyAVX2(alpha float32, x, y *float32, n int)

// mulAVX2 multiplies four rows of k numbers at a (one after the other) by the k rows of 16 at w, adds the 16 of bias, and puts the
// sums into four rows at c that lie ldc numbers apart.
//
//go:noescape
func mulAVX2(k int, a, w, bias, c *float32, ldc int)

func dot(a, b []float32) float32 {
	if hasVector {
		return dotAVX2(&a[0], &b[0], len(a))
	}
	return dotGo(a, b)
}

func axpy(alpha float32, x, y []float32) {
	if hasVector {
		axpyAVX2(alpha, &x[0], &y[0], len(x))
		return
	}
	axpyGo(alpha, x, y)
}

func mul4x16(k int, a, w, bias, dst []float32, ldc int) {
	if hasVector {
		_ = dst[3*ldc+panel-1]
		mulAVX2(k, &a[0], &w[0], &bias[0], &dst[0], ldc)
		return
	}
	mulGo(k, a, w, bias, dst, ldc)
}
