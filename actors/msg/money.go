package msg

import (
	"bytes"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// USD is an amount of money in billionths of a US dollar. Sums of it are exact, whatever their order, and stop at the largest
// amount (about nine billion dollars) instead of overflowing. On the wire it is a number of dollars, digit by digit.
type USD int64

// Dollar is one US dollar.
const Dollar USD = 1e9

const usdDigits = 9 // after the point

// ParseUSD reads a decimal number of dollars, such as "12", "0.000125" or "1.5e-05". What is below a billionth is rounded, half
// up; what is larger than USD can hold becomes the largest amount. ok is false for anything that is no number from 0 on.
func ParseUSD(s string) (amount USD, ok bool) {
	n, ok := ParseDecimal(s, usdDigits)
	return USD(n), ok
}

// ParseDecimal reads a decimal number from 0 on and returns it times 10^digits, rounded half up and at most the largest int64.
func ParseDecimal(s string, digits int) (n int64, ok bool) {
	mantissa, exponent := s, 0
	if i := strings.IndexAny(s, "eE"); i >= 0 {
		var err error
		mantissa = s[:i]
		if exponent, err = strconv.Atoi(s[i+1:]); err != nil || len(s)-i > 6 {
			return 0, false
		}
	}
	whole, part, _ := strings.Cut(mantissa, ".")
	all := whole + part
	if all == "" || len(all) > 400 || strings.Trim(all, "0123456789") != "" {
		return 0, false
	}
	keep := len(whole) + exponent + digits // how many digits of all count
	if keep < 0 {
		return 0, true
	}
	up := keep < len(all) && all[keep] >= '5'
	all = strings.TrimLeft(all[:min(keep, len(all))], "0") + zeros(all, keep)
	if len(all) > 18 {
		return math.MaxInt64, true
	}
	if all != "" {
		n, _ = strconv.ParseInt(all, 10, 64)
	}
	if up {
		n++
	}
	return n, true
}

// zeros are those that a number gets behind its own digits; a number that is all zeros gets none.
func zeros(digits string, keep int) string {
	missing := keep - len(digits)
	if missing <= 0 || strings.Trim(digits, "0") == "" {
		return ""
	}
	return strings.Repeat("0", min(missing, 20))
}

// DollarsOf is the amount that a setting in dollars means, as it is written in decimal.
func DollarsOf(f float64) USD {
	if !(f > 0) {
		return 0
	}
	n, _ := ParseUSD(strconv.FormatFloat(f, 'f', -1, 64))
	return n
}

// Plus is the sum.
func (m USD) Plus(o USD) USD {
	if o > 0 && m > math.MaxInt64-o {
		return math.MaxInt64
	}
	return m + o
}

// String is dollars and cents for sentences, rounded half up: "$10.40". Less than a cent, but something, is "less than $0.01".
func (m USD) String() string {
	if m > 0 && m < Dollar/100 {
		return "less than $0.01"
	}
	cents := m / (Dollar / 100)
	if m%(Dollar/100) >= Dollar/200 {
		cents++
	}
	return fmt.Sprintf("$%d.%02d", cents/100, cents%100)
}

// MarshalJSON writes dollars as a decimal number without needless zeros.
func (m USD) MarshalJSON() ([]byte, error) {
	sign := ""
	u := uint64(m)
	if m < 0 {
		sign, u = "-", -u
	}
	text := fmt.Sprintf("%s%d.%09d", sign, u/1e9, u%1e9)
	return []byte(strings.TrimSuffix(strings.TrimRight(text, "0"), ".")), nil
}

// UnmarshalJSON reads a number of dollars.
func (m *USD) UnmarshalJSON(b []byte) error {
	if bytes.Equal(b, []byte("null")) {
		return nil
	}
	n, ok := ParseUSD(string(b))
	if !ok {
		return fmt.Errorf("%.20q is not an amount of dollars", b)
	}
	*m = n
	return nil
}
