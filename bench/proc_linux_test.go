package bench

import (
	"os"
	"testing"
	"time"
)

func TestParseStat(t *testing.T) {
	const tail = " S 1 2 3 4 5 6 7 8 9 10 150 25 0 0 20 0 9 0 100 200 300"
	for in, want := range map[string]time.Duration{"77 (sentient)" + tail: 1750 * time.Millisecond, "77 (a) b (c)" + tail: 1750 * time.Millisecond} {
		if got, err := parseStat([]byte(in)); err != nil || got != want {
			t.Errorf("%q: %v, %v", in, got, err)
		}
	}
	for _, bad := range []string{"", "77 (x) S 1", "77 (x) S 1 2 3 4 5 6 7 8 9 10 many 25 0"} {
		if _, err := parseStat([]byte(bad)); err == nil {
			t.Errorf("%q was read", bad)
		}
	}
}

func TestParseBusy(t *testing.T) {
	if got, err := parseBusy("cpu  100 20 30 9000 500 7 8 4 0 0\ncpu0 1 2 3 4 5 6 7 8 0 0\n"); err != nil || got != 1540*time.Millisecond {
		t.Errorf("%v, %v", got, err)
	}
	for _, bad := range []string{"", "cpu 1 2 3", "cpu0 1 2 3 4 5 6 7 8", "cpu a 2 3 4 5 6 7 8"} {
		if _, err := parseBusy(bad); err == nil {
			t.Errorf("%q was read", bad)
		}
	}
}

func TestParseRollup(t *testing.T) {
	m := parseRollup("5570-7ffd ---p 00000000 00:00 0    [rollup]\nRss:               41984 kB\nPss:               40000 kB\nAnonymous:         10240 kB\n")
	if m.RSS != 41 || m.Own != 10 {
		t.Errorf("%+v", m)
	}
}

func TestOwnProcess(t *testing.T) {
	m, err := memoryOf(os.Getpid())
	if err != nil || m.RSS < 1 || m.Own <= 0 || m.Own > m.RSS {
		t.Errorf("%+v, %v", m, err)
	}
	if _, err := cpuTime(os.Getpid()); err != nil {
		t.Error(err)
	}
}
