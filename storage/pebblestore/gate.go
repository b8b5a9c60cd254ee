package pebblestore

import (
	"sync"
	"time"

	"github.com/cockroachdb/pebble/v2"
)

// gate is Pebble's compaction scheduler for one DB. It holds every compaction until release, so that opening never waits for
// one (Pebble's Open waits for a compaction that its own replay of the log started), then lets one run at a time. Unlike
// Pebble's own it does not wake ten times a second.
//
// Lock order: Pebble's db.mu, then gate.mu. So mu is never held while calling into the DB, but for
// GetAllowedWithoutPermission, which takes no lock of the DB.
type gate struct {
	mu      sync.Mutex
	db      pebble.DBForCompaction
	open    bool
	closed  bool
	running int
	until   time.Time // no compaction before: the last one failed
	wait    time.Duration
	calls   sync.WaitGroup // calls into the DB, and the slow look
	stop    chan struct{}
}

// A compaction that fails (a damaged table, a full disk) would be tried again at once and for ever. So after each failure the
// gate rests, twice as long as before.
const (
	restFirst = time.Second
	restMost  = 5 * time.Minute
)

// failed says that a compaction did not work.
func (g *gate) failed() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.wait = min(restMost, max(restFirst, 2*g.wait))
	g.until = time.Now().Add(g.wait)
}

// worked says that one did.
func (g *gate) worked() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.wait, g.until = 0, time.Time{}
}

// slowLook is how often the gate looks for a waiting compaction that no call told it of.
const slowLook = 5 * time.Second

func newGate() *gate { return &gate{stop: make(chan struct{})} }

// Register implements pebble.CompactionScheduler.
func (g *gate) Register(_ int, db pebble.DBForCompaction) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.db = db
}

// Unregister implements pebble.CompactionScheduler; it returns when the gate's goroutine is over.
func (g *gate) Unregister() {
	g.mu.Lock()
	if !g.closed {
		g.closed = true
		close(g.stop)
	}
	g.mu.Unlock()
	g.calls.Wait()
}

// take claims the slot. inCall also counts the caller as being in a call into the DB.
func (g *gate) take(inCall bool) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed || !g.open || !g.until.IsZero() && time.Now().Before(g.until) || g.running >= max(1, g.db.GetAllowedWithoutPermission()) {
		return false
	}
	g.running++
	if inCall {
		g.calls.Add(1)
	}
	return true
}

// TrySchedule implements pebble.CompactionScheduler.
func (g *gate) TrySchedule() (bool, pebble.CompactionGrantHandle) {
	if g.take(false) {
		return true, g
	}
	return false, nil
}

// grant offers a free slot to a compaction that was refused before.
func (g *gate) grant() {
	for g.take(true) {
		waiting, _ := g.db.GetWaitingCompaction()
		ok := waiting && g.db.Schedule(g)
		if !ok {
			g.mu.Lock()
			g.running--
			g.mu.Unlock()
		}
		g.calls.Done()
		if !ok {
			return
		}
	}
}

// release lets compactions run. Later calls do nothing.
func (g *gate) release() {
	g.mu.Lock()
	first := !g.open && !g.closed
	if first {
		g.open = true
		g.calls.Add(1)
	}
	g.mu.Unlock()
	if first {
		g.grant()
		go g.look()
	}
}

func (g *gate) look() {
	defer g.calls.Done()
	t := time.NewTicker(slowLook)
	defer t.Stop()
	for {
		select {
		case <-t.C:
			g.grant()
		case <-g.stop:
			return
		}
	}
}

// UpdateGetAllowedWithoutPermission implements pebble.CompactionScheduler.
func (g *gate) UpdateGetAllowedWithoutPermission() {}

// Started implements pebble.CompactionGrantHandle.
func (g *gate) Started() {}

// MeasureCPU implements pebble.CompactionGrantHandle.
func (g *gate) MeasureCPU(pebble.CompactionGoroutineKind) {}

// CumulativeStats implements pebble.CompactionGrantHandle.
func (g *gate) CumulativeStats(pebble.CompactionGrantHandleStats) {}

// Done implements pebble.CompactionGrantHandle.
func (g *gate) Done() {
	g.mu.Lock()
	g.running--
	g.mu.Unlock()
	g.grant()
}
