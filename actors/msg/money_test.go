package msg

import (
	"encoding/json"
	"math"
	"math/big"
	"testing"

	"pgregory.net/rapid"
)

func TestParseUSD(t *testing.T) {
	for s, want := range map[string]USD{"0": 0, "1": Dollar, "0.000000001": 1, "0.0000000005": 1, "0.00000000049": 0, "1.5e-05": 15_000, "2E+2": 200 * Dollar, "0e99999": 0,
		"00.10": Dollar / 10, ".5": Dollar / 2, "5.": 5 * Dollar, "1e300": math.MaxInt64, "99999999999": math.MaxInt64, "1e-9999": 0} {
		if got, ok := ParseUSD(s); !ok || got != want {
			t.Errorf("%s: %d %v, want %d", s, got, ok, want)
		}
	}
	for _, s := range []string{"", ".", "-1", "+1", "1,5", "NaN", "Infinity", "1e", "1e1e1", "0x1", " 1", "1e99999999999999999999", `"1"`, "1.2.3"} {
		if got, ok := ParseUSD(s); ok {
			t.Errorf("%q was read as %d", s, got)
		}
	}
	for f, want := range map[float64]USD{10.1: 10_100_000_000, 0.1 + 0.2: 300_000_000, -3: 0, math.NaN(): 0, math.Inf(1): 0, 1e30: math.MaxInt64} {
		if got := DollarsOf(f); got != want {
			t.Errorf("%v: %d", f, got)
		}
	}
}

func TestUSDText(t *testing.T) {
	for m, want := range map[USD]string{0: "$0.00", 1: "less than $0.01", Dollar / 100: "$0.01", 10*Dollar + 395_000_000: "$10.40", Dollar*12 + 4_999_999: "$12.00"} {
		if got := m.String(); got != want {
			t.Errorf("%d: %s", m, got)
		}
	}
}

func FuzzParseUSD(f *testing.F) {
	for _, s := range []string{"1", "0.1", "1e-5", "1e5", "x", "1e", "..", "9223372036.854775807", "9223372036.854775808"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got, ok := ParseUSD(s)
		if got < 0 {
			t.Fatalf("%q: %d", s, got)
		}
		exact, valid := new(big.Rat).SetString(s)
		if !ok || !valid || len(s) > 60 {
			return
		}
		exact.Mul(exact, big.NewRat(1e9, 1))
		diff := exact.Sub(exact, new(big.Rat).SetInt64(int64(got)))
		if got < 999_999_999_999_999_999 && diff.Abs(diff).Cmp(big.NewRat(1, 2)) > 0 {
			t.Fatalf("%q: %d", s, got)
		}
	})
}

// What goes over the wire is exactly the amount.
func TestUSDRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := USD(rapid.Int64Range(0, 999_999_999_999_999_999).Draw(t, "amount"))
		b, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		var back USD
		if err := json.Unmarshal(b, &back); err != nil || back != m {
			t.Fatalf("%d: %s, %d, %v", m, b, back, err)
		}
		o := USD(rapid.Int64Range(0, math.MaxInt64).Draw(t, "more"))
		if s := m.Plus(o); s < m || s < o || s != o.Plus(m) {
			t.Fatalf("%d + %d = %d", m, o, s)
		}
	})
}
