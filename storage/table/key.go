package table

import (
	"encoding/binary"
	"math"
	"time"
)

// Keys made of these parts sort part by part, and two different lists of values of the same parts never make the same key,
// nor does one make the beginning of another's part: a string ends with a mark that cannot be in it, numbers have one size.

// AppendString adds a string. Prefixes of the string are found with AppendStringPrefix.
func AppendString(dst []byte, s string) []byte { return append(AppendStringPrefix(dst, s), 0, 1) }

// AppendStringPrefix adds the beginning of a string part, for Query.Prefix: it matches every string that starts with s.
func AppendStringPrefix(dst []byte, s string) []byte {
	for i := range len(s) {
		dst = append(dst, s[i])
		if s[i] == 0 {
			dst = append(dst, 0xFF)
		}
	}
	return dst
}

// AppendUint64 adds a number, small ones first.
func AppendUint64(dst []byte, n uint64) []byte { return binary.BigEndian.AppendUint64(dst, n) }

// AppendTime adds a time in nanoseconds, early ones first. It holds from the year 1678 to 2262; others become the nearest.
func AppendTime(dst []byte, t time.Time) []byte {
	return AppendUint64(dst, uint64(nanos(t))^(1<<63))
}

// AppendTimeDesc adds a time, late ones first.
func AppendTimeDesc(dst []byte, t time.Time) []byte {
	return AppendUint64(dst, ^(uint64(nanos(t)) ^ (1 << 63)))
}

func nanos(t time.Time) int64 {
	switch s := t.Unix(); {
	case s <= math.MinInt64/1_000_000_000:
		return math.MinInt64
	case s >= math.MaxInt64/1_000_000_000:
		return math.MaxInt64
	}
	return t.UnixNano()
}

// CutString takes a string part off the front of a key. ok is false when there is none.
func CutString(key []byte) (s string, rest []byte, ok bool) {
	var out []byte
	for i := 0; i < len(key); i++ {
		if key[i] != 0 {
			out = append(out, key[i])
			continue
		}
		if i+1 == len(key) {
			return "", nil, false
		}
		switch i++; key[i] {
		case 1:
			return string(out), key[i+1:], true
		case 0xFF:
			out = append(out, 0)
		default:
			return "", nil, false
		}
	}
	return "", nil, false
}

// CutUint64 takes a number off the front of a key. ok is false when there is none.
func CutUint64(key []byte) (n uint64, rest []byte, ok bool) {
	if len(key) < 8 {
		return 0, nil, false
	}
	return binary.BigEndian.Uint64(key), key[8:], true
}

// CutTime is the opposite of AppendTime, in UTC.
func CutTime(key []byte) (t time.Time, rest []byte, ok bool) {
	n, rest, ok := CutUint64(key)
	return time.Unix(0, int64(n^(1<<63))).UTC(), rest, ok
}

// CutTimeDesc is the opposite of AppendTimeDesc, in UTC.
func CutTimeDesc(key []byte) (t time.Time, rest []byte, ok bool) {
	n, rest, ok := CutUint64(key)
	return time.Unix(0, int64(^n^(1<<63))).UTC(), rest, ok
}
