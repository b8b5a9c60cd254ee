package journal

import (
	"bytes"
	"slices"
)

// checkpoint is one piece that waits for its sync. Numbers grow over all streams and restarts.
type checkpoint struct {
	stream Stream
	number uint64
	data   []byte
}

// Checkpoint implements Journal.
func (c *Committer) Checkpoint(s Stream, data []byte) {
	c.mu.Lock()
	if c.closing || c.waitBytes+len(data) > c.opt.CheckpointBytes {
		closing := c.closing
		c.mu.Unlock()
		if !closing {
			c.opt.Logger.Warn("a checkpoint was dropped: too many wait for the disk", "bytes", len(data))
		}
		return
	}
	c.nextCheck++
	c.waiting = append(c.waiting, checkpoint{s, c.nextCheck, bytes.Clone(data)})
	c.waitBytes += len(data)
	first := len(c.waiting) == 1
	c.mu.Unlock()
	if first {
		c.nudge()
	}
}

func (c *Committer) checksWait() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.waiting) > 0
}

// waitingOf is what is queued for s and not stored yet.
func (c *Committer) waitingOf(s Stream) (found []checkpoint) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, k := range c.waiting {
		if k.stream == s {
			found = append(found, k)
		}
	}
	return found
}

// settleChecks ends a batch for the queue: taken leaves it, kept stays at its front.
func (c *Committer) settleChecks(taken, kept []checkpoint) {
	if len(taken) == 0 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closing {
		kept = nil // there is no later batch
	}
	c.waiting = slices.Concat(kept, c.waiting[len(taken):])
	c.waitBytes = 0
	for _, k := range c.waiting {
		c.waitBytes += len(k.data)
	}
	if len(c.waiting) == 0 {
		c.waiting = nil
	}
}

// stageCheckpoints adds queued checkpoints to the batch and returns those that must wait because the disk is full.
func (w *writer) stageCheckpoints(checks []checkpoint) (kept []checkpoint) {
	for _, k := range checks {
		st, err := w.stateOf(k.stream)
		if err != nil || st.deleted {
			continue
		}
		if !st.volatile && w.noRoom != nil {
			kept = append(kept, k)
			continue
		}
		at := st.side()
		w.key = numberedKey(w.key, checkpointSpace, k.stream, k.number)
		w.set(at, w.key, k.data)
		w.checkOps = append(w.checkOps, checkOp{stream: k.stream, number: k.number})
	}
	return kept
}

// checkOp is what a batch does to the list of stored checkpoints once it is applied.
type checkOp struct {
	stream Stream
	number uint64
	drop   bool
}

// dropCheckpoints deletes the stored checkpoints of s and those earlier in this batch.
func (w *writer) dropCheckpoints(at side, s Stream) {
	n := 0
	remove := func(number uint64) {
		w.key = numberedKey(w.key, checkpointSpace, s, number)
		w.batch[at].Delete(w.key)
		n++
	}
	for _, number := range w.stored[s] {
		remove(number)
	}
	for _, o := range w.checkOps {
		if o.stream == s && !o.drop {
			remove(o.number)
		}
	}
	if n > 0 {
		w.checkOps = append(w.checkOps, checkOp{stream: s, drop: true})
	}
}

// settleStored carries out the batch's checkOps.
func (w *writer) settleStored() {
	for _, o := range w.checkOps {
		if o.drop {
			delete(w.stored, o.stream)
		} else {
			w.stored[o.stream] = append(w.stored[o.stream], o.number)
		}
	}
}
