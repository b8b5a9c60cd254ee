package storagetest

import (
	"context"
	"sync"

	"sentient/storage/journal"
)

// Faulty is an engine that counts and fails on demand.
type Faulty struct {
	journal.Engine

	mu      sync.Mutex
	fail    error
	room    error
	after   func()
	applies int
	erased  int
}

// NewFaulty wraps e, which works until told otherwise.
func NewFaulty(e journal.Engine) *Faulty { return &Faulty{Engine: e} }

// Fail makes Apply return err without applying anything, nil ends it. Room is what Room answers.
func (f *Faulty) Fail(apply, room error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.fail, f.room = apply, room
}

// After makes Apply call f when the batch is in the engine but not yet confirmed, as during a sync.
func (f *Faulty) After(after func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.after = after
}

// Applies is how many batches were applied.
func (f *Faulty) Applies() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.applies
}

// Erased is how often Erase was called.
func (f *Faulty) Erased() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.erased
}

// Apply implements journal.Engine.
func (f *Faulty) Apply(b *journal.Batch, sync bool) error {
	f.mu.Lock()
	err, after := f.fail, f.after
	if err == nil {
		f.applies++
	}
	f.mu.Unlock()
	if err != nil {
		return err
	}
	err = f.Engine.Apply(b, sync)
	if after != nil {
		after()
	}
	return err
}

// Room implements journal.Engine.
func (f *Faulty) Room() error {
	f.mu.Lock()
	err := f.room
	f.mu.Unlock()
	if err != nil {
		return err
	}
	return f.Engine.Room()
}

// Erase implements journal.Engine.
func (f *Faulty) Erase(ctx context.Context, spans []journal.Span) error {
	f.mu.Lock()
	f.erased++
	f.mu.Unlock()
	return f.Engine.Erase(ctx, spans)
}

// Flip flips one bit of the last byte but n of every value whose key starts with prefix. It returns how many it changed.
func Flip(e journal.Engine, prefix string, n int) (changed int, err error) {
	var b journal.Batch
	v := e.View()
	hi := append([]byte(prefix[:len(prefix)-1]), prefix[len(prefix)-1]+1)
	cur := v.Scan(journal.Span{Lo: []byte(prefix), Hi: hi}, false)
	for cur.Next() {
		value := append([]byte{}, cur.Value()...)
		if n < len(value) {
			value[len(value)-1-n] ^= 4
			b.Set(cur.Key(), value)
			changed++
		}
	}
	err = cur.Err()
	_ = cur.Close()
	_ = v.Close()
	if err != nil {
		return 0, err
	}
	return changed, e.Apply(&b, true)
}
