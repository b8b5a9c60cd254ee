package bench

import (
	"slices"
	"strconv"
	"testing"
	"time"
)

func TestStamps(t *testing.T) {
	for name, c := range map[string]struct {
		in     string
		member []byte
		want   []int64
	}{
		"one":         {`{"type":"text_delta","session_id":"S7","turn_id":"T9","text":"1764563468123456789 ","seq":5}`, textMember, []int64{1764563468123456789}},
		"merged":      {`{"type":"text_delta","text":"1 22 333 ","seq":5}`, textMember, []int64{1, 22, 333}},
		"cut":         {`{"type":"text_delta","text":"12 3`, textMember, []int64{12}},
		"no number":   {`{"type":"text_delta","text":"word 4 ","seq":5}`, textMember, []int64{4}},
		"none":        {`{"type":"done","content":"1 2 ","seq":12}`, textMember, nil},
		"model":       {`data: {"id":"chatcmpl-7","choices":[{"index":0,"delta":{"content":"42 "},"finish_reason":null}]}`, sseContent, []int64{42}},
		"model opens": {`data: {"choices":[{"index":0,"delta":{"role":"assistant","content":"","refusal":null}}]}`, sseContent, nil},
		"too long":    {`{"text":"99999999999999999999 7 "}`, textMember, []int64{7}},
	} {
		var got []int64
		stamps([]byte(c.in), c.member, func(n int64) { got = append(got, n) })
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, not %v", name, got, c.want)
		}
	}
}

func FuzzStamps(f *testing.F) {
	for _, s := range []string{`"text":"1 2 "`, `"text":"`, `"text":"9223372036854775807 9999999999999999999 "`, "\"text\":\"\xff 1 \"", ""} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		stamps(b, textMember, func(n int64) {
			if n < 0 && len(b) < 19 {
				t.Fatalf("%q has the time %d", b, n)
			}
		})
	})
}

func TestReplyEvents(t *testing.T) {
	now := time.Now()
	token := func(at time.Time) []byte {
		return []byte(`{"type":"text_delta","session_id":"s","turn_id":"t","text":"` + strconv.FormatInt(at.UnixNano(), 10) + ` ","seq":0}`)
	}
	r := reply{relay: Samples{1, 2, 3}}
	r.begin()
	r.sent = now.Add(-time.Second)
	for _, b := range [][]byte{[]byte(`{"type":"session","seq":1}`), token(now.Add(-400 * time.Millisecond)), token(now), []byte(`{"type":"error","message":"a note","recoverable":true}`)} {
		if over, err := r.event(b); over || err != nil {
			t.Fatalf("%s ended the turn (%v)", b, err)
		}
	}
	if len(r.relay) != 2 || r.relay[0] < 400*time.Millisecond || r.relay[1] < 0 || r.up != 600*time.Millisecond || r.first < time.Second {
		t.Errorf("the reply is %+v", r)
	}
	if over, err := r.event([]byte(`{"type":"done","content":"x"}`)); !over || err != nil || r.whole < r.first {
		t.Errorf("over %v, %v, whole %v", over, err, r.whole)
	}
	over, err := r.event([]byte(`{"type":"error","session_id":"s","message":"It broke.","recoverable":false}`))
	if !over || err == nil || err.Error() != "the turn failed: It broke." {
		t.Errorf("over %v, %v", over, err)
	}
}

func TestKeptTokens(t *testing.T) {
	for in, want := range map[string]int{"": 0, "1 2 3 ": 0, "1 2 3 (interrupted)": 3, "1 2 3\n\n(interrupted)": 3, "(interrupted)": 0, "1 (interrupted) 2": 0} {
		if got := keptTokens(in); got != want {
			t.Errorf("%q keeps %d tokens, not %d", in, got, want)
		}
	}
}
