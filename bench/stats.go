package bench

import (
	"math"
	"slices"
	"time"
)

// Samples are measured durations, in any order.
type Samples []time.Duration

// Percentile is the smallest sample that at least p percent of the samples do not exceed (nearest rank); 0 of no samples.
func (s Samples) Percentile(p float64) time.Duration {
	if len(s) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(s))
	rank := int(math.Ceil(p / 100 * float64(len(sorted))))
	return sorted[min(max(rank, 1), len(sorted))-1]
}

// Median is the 50th percentile.
func (s Samples) Median() time.Duration { return s.Percentile(50) }

// medianOf is the middle of other numbers, by nearest rank; 0 of none.
func medianOf(v []float64) float64 {
	if len(v) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(v))
	return sorted[(len(sorted)-1)/2]
}

// Slope is how much y grows for each x (least squares); 0 when x does not vary.
func Slope(x, y []float64) float64 {
	n := float64(min(len(x), len(y)))
	var sx, sy, sxx, sxy float64
	for i := range int(n) {
		sx, sy, sxx, sxy = sx+x[i], sy+y[i], sxx+x[i]*x[i], sxy+x[i]*y[i]
	}
	d := n*sxx - sx*sx
	if d == 0 {
		return 0
	}
	return (n*sxy - sx*sy) / d
}
