//go:build !amd64

package vec

func dot(a, b []float32) float32 { return dotGo(a, b) }

func axpy(alpha float32, x, y []float32) { axpyGo(alpha, x, y) }

func mul4x16(k int, a, w, bias, dst []float32, ldc int) { mulGo(k, a, w, bias, dst, ldc) }
