package journal

import "bytes"

// merged walks the same span of both engines in one order. No key is in both: a stream lives in one of them.
type merged struct {
	cur     [sides]Cursor
	has     [sides]bool
	reverse bool
	now     side
	started bool
	failed  bool
	around  bool // what cannot be read is left out
}

func mergeScan(p *pair, span Span, reverse bool) *merged {
	m := &merged{reverse: reverse}
	for i, v := range p.of {
		m.cur[i] = v.Scan(span, reverse)
	}
	return m
}

func (m *merged) next() bool {
	for i := range m.cur {
		if !m.started || side(i) == m.now {
			if m.around {
				m.has[i] = nextReadable(m.cur[i])
			} else {
				m.has[i] = m.cur[i].Next()
			}
			m.failed = m.failed || !m.has[i] && m.cur[i].Err() != nil
		}
	}
	m.started = true
	switch {
	case m.failed: // what comes next in order is not known
		return false
	case m.has[onDisk] && m.has[inMemory]:
		first := bytes.Compare(m.cur[onDisk].Key(), m.cur[inMemory].Key()) < 0
		m.now = inMemory
		if first != m.reverse {
			m.now = onDisk
		}
	case m.has[onDisk]:
		m.now = onDisk
	case m.has[inMemory]:
		m.now = inMemory
	default:
		return false
	}
	return true
}

func (m *merged) key() []byte   { return m.cur[m.now].Key() }
func (m *merged) value() []byte { return m.cur[m.now].Value() }
func (m *merged) at() side      { return m.now }

func (m *merged) err() error {
	for _, c := range m.cur {
		if err := c.Err(); err != nil {
			return err
		}
	}
	return nil
}

func (m *merged) close() {
	for _, c := range m.cur {
		_ = c.Close()
	}
}
