package vec

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func numbers(r *rand.Rand, n int) []float32 {
	out := make([]float32, n)
	for i := range out {
		out[i] = r.Float32()*2 - 1
	}
	return out
}

func near(a, b float64, scale int) bool { return math.Abs(a-b) <= 1e-6*float64(scale+1) }

// Every length and every offset gives what the definition gives, and nothing beside the vectors is read into the sum or written.
func TestDotAndAxpyAreTheirDefinition(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 200).Draw(t, "n")
		off := rapid.IntRange(0, 7).Draw(t, "off")
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		a, b := numbers(r, n+off+8)[off:off+n], numbers(r, n+off+8)
		y := slices.Clone(b)
		var want float64
		for i := range a {
			want += float64(a[i]) * float64(b[off+i])
		}
		for name, got := range map[string]float32{"Dot": Dot(a, b[off:off+n]), "plain": dotGo(a, b[off:off+n])} {
			if !near(float64(got), want, n) {
				t.Fatalf("%s of %d: %v, not %v", name, n, got, want)
			}
		}
		plain := slices.Clone(b)
		Axpy(0.75, a, y[off:off+n])
		axpyGo(0.75, a, plain[off:off+n])
		for i := range y {
			w := float64(b[i])
			if i >= off && i < off+n {
				w += 0.75 * float64(a[i-off])
			}
			if !near(float64(y[i]), w, 1) || !near(float64(plain[i]), w, 1) {
				t.Fatalf("axpy of %d at %d: %v and %v, not %v", n, i, y[i], plain[i], w)
			}
		}
	})
}

func TestCosine(t *testing.T) {
	nan := float32(math.NaN())
	for _, c := range []struct {
		a, b []float32
		want float32
	}{
		{[]float32{1, 0}, []float32{5, 0}, 1}, {[]float32{1, 0}, []float32{0, 2}, 0}, {[]float32{1, 1}, []float32{-3, -3}, -1},
		{[]float32{0, 0}, []float32{1, 1}, 0}, {[]float32{1}, []float32{1, 2}, 0}, {nil, nil, 0}, {[]float32{nan, 1}, []float32{1, 1}, 0},
	} {
		if got := Cosine(c.a, c.b); math.Abs(float64(got-c.want)) > 1e-6 {
			t.Errorf("Cosine(%v, %v) = %v, not %v", c.a, c.b, got, c.want)
		}
	}
	v := []float32{3, 4}
	if !Normalize(v) || v[0] != 0.6 || v[1] != 0.8 {
		t.Errorf("normalized: %v", v)
	}
	if z := []float32{0, 0}; Normalize(z) || z[0] != 0 {
		t.Errorf("nothing was normalized: %v", z)
	}
}

func TestMulIsItsDefinition(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n, in, panels := rapid.IntRange(1, 9).Draw(t, "rows"), rapid.IntRange(1, 40).Draw(t, "in"), rapid.IntRange(1, 4).Draw(t, "panels")
		cut := rapid.IntRange(0, panels).Draw(t, "cut")
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 2))
		out := panels * panel
		a, w, bias := numbers(r, Rows(n)*in), numbers(r, in*out), numbers(r, out)
		packed, err := Pack(w, in, out)
		if err != nil {
			t.Fatal(err)
		}
		m, err := NewWeights(packed, bias, in, out)
		if err != nil {
			t.Fatal(err)
		}
		got := make([]float32, Rows(n)*out)
		m.Mul(got, a, n, cut, m.Panels())
		m.Mul(got, a, n, 0, cut)
		plain := make([]float32, lanes*out)
		for p := range panels {
			mulGo(in, a[:lanes*in], packed[p*panel*in:(p+1)*panel*in], bias[p*panel:(p+1)*panel], plain[p*panel:], out)
		}
		for i := range n {
			for j := range out {
				want := float64(bias[j])
				for k := range in {
					want += float64(a[i*in+k]) * float64(w[k*out+j])
				}
				if !near(float64(got[i*out+j]), want, in) || i < lanes && !near(float64(plain[i*out+j]), want, in) {
					t.Fatalf("row %d column %d: %v, not %v", i, j, got[i*out+j], want)
				}
			}
		}
	})
}

func TestMatricesThatAreNone(t *testing.T) {
	if _, err := Pack(make([]float32, 30), 2, 15); err == nil {
		t.Error("15 columns were packed")
	}
	if _, err := Pack(make([]float32, 31), 2, 16); err == nil {
		t.Error("31 numbers were packed as 2 by 16")
	}
	if _, err := NewWeights(make([]float32, 32), make([]float32, 15), 2, 16); err == nil {
		t.Error("a bias of 15 was taken for 16 columns")
	}
	if _, err := Nearest([]float32{1, 2}, make([]float32, 3), 1, -1, nil); err == nil {
		t.Error("half a row was searched")
	}
	if _, err := Nearest(nil, make([]float32, 3), 1, -1, nil); err == nil {
		t.Error("a search for nothing was answered")
	}
}

func TestNearestIsASortedScan(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		dim, rows, k := rapid.IntRange(1, 20).Draw(t, "dim"), rapid.IntRange(0, 200).Draw(t, "rows"), rapid.IntRange(-1, 30).Draw(t, "k")
		least := rapid.SampledFrom([]float32{-100, 0, 0.5}).Draw(t, "least")
		check(t, dim, rows, k, least, rapid.Uint64().Draw(t, "seed"))
	})
}

// A large matrix is searched by several goroutines and the answer is the same.
func TestNearestOfManyRows(t *testing.T) { check(t, 64, 1+aloneBelow/64*2, 25, -100, 7) }

func check(t interface{ Fatalf(string, ...any) }, dim, rows, k int, least float32, seed uint64) {
	r := rand.New(rand.NewPCG(seed, 3))
	q := make([]float32, dim)
	m := make([]float32, rows*dim)
	for i := range q {
		q[i] = float32(r.IntN(3) - 1)
	}
	for i := range m {
		m[i] = float32(r.IntN(3) - 1) // many equal scores, and exact sums
	}
	keep := func(row int) bool { return row%3 != 0 }
	var want []Hit
	for i := range rows {
		if s := dotGo(m[i*dim:(i+1)*dim], q); s >= least && keep(i) {
			want = append(want, Hit{i, s})
		}
	}
	slices.SortStableFunc(want, func(a, b Hit) int { return cmp.Compare(b.Score, a.Score) })
	want = want[:min(max(k, 0), len(want))]
	got, err := Nearest(q, m, k, least, keep)
	if err != nil || !slices.Equal(got, want) {
		t.Fatalf("%v %v, not %v", got, err, want)
	}
}

func TestNearestSkipsWhatIsNoNumber(t *testing.T) {
	nan := float32(math.NaN())
	got, err := Nearest([]float32{1, 1}, []float32{nan, 1, 1, 1, 0, 0}, 3, float32(math.Inf(-1)), nil)
	if err != nil || len(got) != 2 || got[0].Row != 1 {
		t.Errorf("%v %v", got, err)
	}
}

func BenchmarkNearest20000x512(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 4))
	m, q := numbers(r, 20000*512), numbers(r, 512)
	for b.Loop() {
		if hits, err := Nearest(q, m, 10, -1e9, nil); err != nil || len(hits) != 10 {
			b.Fatal(hits, err)
		}
	}
}

func BenchmarkNearest20000x512PlainGo(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 4))
	m, q := numbers(r, 20000*512), numbers(r, 512)
	var s float32
	for b.Loop() {
		for i := range 20000 {
			s += dotGo(m[i*512:(i+1)*512], q)
		}
	}
	_ = s
}

func BenchmarkMul(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 5))
	for _, c := range []struct {
		name string
		n    int
		mul  func(k int, a, w, bias, dst []float32, ldc int)
	}{{"vector/12", 12, mul4x16}, {"vector/128", 128, mul4x16}, {"plain/12", 12, mulGo}} {
		b.Run(c.name, func(b *testing.B) {
			const in, out = 512, 1536
			a, w, bias, dst := numbers(r, c.n*in), numbers(r, in*out), numbers(r, out), make([]float32, c.n*out)
			for b.Loop() {
				for p := range out / panel {
					for i := 0; i < c.n; i += lanes {
						c.mul(in, a[i*in:(i+lanes)*in], w[p*panel*in:(p+1)*panel*in], bias[p*panel:(p+1)*panel], dst[i*out+p*panel:], out)
					}
				}
			}
			b.ReportMetric(float64(b.N)*float64(c.n*in*out)/b.Elapsed().Seconds()/1e9, "Gmac/s")
		})
	}
}
