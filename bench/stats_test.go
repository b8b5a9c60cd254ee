package bench

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestPercentile(t *testing.T) {
	ms := func(n ...int) (s Samples) {
		for _, v := range n {
			s = append(s, time.Duration(v)*time.Millisecond)
		}
		return s
	}
	hundred := make([]int, 100)
	for i := range hundred {
		hundred[i] = 100 - i
	}
	for _, c := range []struct {
		s    Samples
		p    float64
		want int
	}{
		{nil, 50, 0}, {ms(7), 50, 7}, {ms(7), 99, 7}, {ms(3, 1, 2), 50, 2}, {ms(4, 1, 3, 2), 50, 2}, {ms(4, 1, 3, 2), 100, 4}, {ms(4, 1, 3, 2), 0, 1},
		{ms(hundred...), 99, 99}, {ms(hundred...), 50, 50}, {ms(hundred...), 100, 100},
	} {
		if got := c.s.Percentile(c.p); got != time.Duration(c.want)*time.Millisecond {
			t.Errorf("p%v of %v is %v, not %d ms", c.p, c.s, got, c.want)
		}
	}
}

// The definition itself: it is a sample, at least p percent are not above it, and fewer are below it.
func TestPercentileIsTheNearestRank(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := Samples(rapid.SliceOfN(rapid.Map(rapid.IntRange(-50, 50), func(n int) time.Duration { return time.Duration(n) }), 1, 40).Draw(t, "samples"))
		p := rapid.Float64Range(0.1, 100).Draw(t, "p")
		before := slices.Clone(s)
		got := s.Percentile(p)
		if !slices.Equal(before, s) {
			t.Fatal("the samples were reordered")
		}
		below, upto := 0, 0
		for _, v := range s {
			if v < got {
				below++
			}
			if v <= got {
				upto++
			}
		}
		need := p / 100 * float64(len(s))
		if !slices.Contains(s, got) || float64(upto) < need || float64(below) >= need {
			t.Fatalf("p%v of %v is %v", p, s, got)
		}
	})
}

func TestSlope(t *testing.T) {
	for _, c := range []struct {
		x, y []float64
		want float64
	}{
		{nil, nil, 0}, {[]float64{1}, []float64{5}, 0}, {[]float64{2, 2}, []float64{1, 9}, 0},
		{[]float64{1, 2, 3}, []float64{10, 12, 14}, 2}, {[]float64{0, 1, 2}, []float64{1, 0, 2}, 0.5},
	} {
		if got := Slope(c.x, c.y); math.Abs(got-c.want) > 1e-9 {
			t.Errorf("the slope of %v over %v is %v, not %v", c.y, c.x, got, c.want)
		}
	}
	if got := medianOf([]float64{9, 1, 5}); got != 5 {
		t.Errorf("the median is %v", got)
	}
}

func TestReport(t *testing.T) {
	r := Report{Scenario: "s", Setting: "how"}
	r.goal("quick", 1500*time.Microsecond, 2*time.Millisecond)
	r.goal("slow", 2*time.Millisecond, 2*time.Millisecond)
	r.goalMB("large", 46, 45)
	r.goalNone("errors", 1, "why")
	r.add("free", "%d", 3)
	var b strings.Builder
	if err := r.Write(&b); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"| quick | 1.50 ms | < 2.00 ms |", "| slow | 2.00 ms | < 2.00 ms **missed** |", "| large | 46.00 MB | < 45 MB **missed** |",
		"| errors | 1 (first: why) | 0 **missed** |", "| free | 3 |  |"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is not in\n%s", want, b.String())
		}
	}
	if n := len(r.Missed()); n != 3 {
		t.Errorf("%d goals were missed, not 3", n)
	}
}

func TestShow(t *testing.T) {
	for d, want := range map[time.Duration]string{0: "0.00 ms", 1234 * time.Microsecond: "1.23 ms", -1500 * time.Microsecond: "-1.50 ms", 12340 * time.Microsecond: "12.3 ms",
		1500 * time.Millisecond: "1.500 s", 75 * time.Second: "75.0 s"} {
		if got := show(d); got != want {
			t.Errorf("%d ns is shown as %q, not %q", d, got, want)
		}
	}
}
