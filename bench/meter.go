package bench

import (
	"fmt"
	"os"
	"runtime"
	"time"
)

// meter sees what programs other than ours used of the CPUs, so that a disturbed measurement can be told from a slow engine.
type meter struct {
	pids   []int
	began  time.Time
	before time.Duration
	bad    bool
}

// meter starts; it counts the bed's processes and this one as ours.
func (b *bed) meter() *meter {
	m := &meter{pids: []int{os.Getpid(), b.engine.PID()}, began: time.Now()}
	if b.model.pid != 0 {
		m.pids = append(m.pids, b.model.pid)
	}
	m.before = m.others()
	return m
}

// others is what everybody else has used since the computer started.
func (m *meter) others() time.Duration {
	all, err := busyTime()
	m.bad = m.bad || err != nil
	for _, pid := range m.pids {
		t, err := cpuTime(pid)
		m.bad = m.bad || err != nil
		all -= t
	}
	return all
}

// report adds the row.
func (m *meter) report(r *Report) {
	r.add("CPU of programs that are not part of this", "%s", m.String())
}

func (m *meter) String() string {
	used := max(0, m.others()-m.before)
	if m.bad {
		return "not known"
	}
	return fmt.Sprintf("%.0f%% of %d cores", 100*used.Seconds()/time.Since(m.began).Seconds()/float64(runtime.NumCPU()), runtime.NumCPU())
}
