package proc

import (
	"io"
	"sync"
)

// capture keeps the first bytes that are written and swallows the rest, so that a chatty child neither blocks nor fills
// the memory.
type capture struct {
	limit int

	mu  sync.Mutex
	buf []byte
	cut bool
}

func (c *capture) Write(b []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	keep := min(len(b), c.limit-len(c.buf))
	c.buf = append(c.buf, b[:keep]...)
	c.cut = c.cut || keep < len(b)
	return len(b), nil
}

func (c *capture) bytes() ([]byte, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.buf, c.cut
}

// limited reads at most left bytes and then says why it ends.
type limited struct {
	r    io.Reader
	left int
}

func (l *limited) Read(b []byte) (int, error) {
	if l.left <= 0 {
		var one [1]byte
		if n, err := l.r.Read(one[:]); n == 0 {
			return 0, err
		}
		return 0, ErrOutputLimit
	}
	n, err := l.r.Read(b[:min(len(b), l.left)])
	l.left -= n
	return n, err
}
