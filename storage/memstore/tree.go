package memstore

import (
	"bytes"
	"hash/maphash"

	"sentient/storage/journal"
)

// node is a persistent treap: a search tree by key, a heap by weight, where a change copies the path to it and shares the
// rest. The weight is a hash of the key, so the same keys make the same tree whatever their order, about 1.4 log2 n deep.
type node struct {
	key, value  []byte
	weight      uint64
	left, right *node
}

// seed is drawn once, so nobody can choose keys that make the tree deep.
var seed = maphash.MakeSeed()

func with(n, left, right *node) *node {
	m := *n
	m.left, m.right = left, right
	return &m
}

func find(n *node, key []byte) *node {
	for n != nil {
		switch c := bytes.Compare(key, n.key); {
		case c < 0:
			n = n.left
		case c > 0:
			n = n.right
		default:
			return n
		}
	}
	return nil
}

func insert(root *node, key, value []byte) *node {
	both := append(append(make([]byte, 0, len(key)+len(value)), key...), value...)
	fresh := &node{key: both[:len(key):len(key)], value: both[len(key):], weight: maphash.Bytes(seed, key)}
	return place(root, fresh)
}

func place(n, fresh *node) *node {
	if n == nil {
		return fresh
	}
	c := bytes.Compare(fresh.key, n.key)
	switch {
	case c == 0:
		return with(fresh, n.left, n.right) // the same key has the same weight
	case fresh.weight > n.weight:
		left, right := split(n, fresh.key)
		return with(fresh, left, right)
	case c < 0:
		return with(n, place(n.left, fresh), n.right)
	default:
		return with(n, n.left, place(n.right, fresh))
	}
}

// split gives the nodes before key and those from key on.
func split(n *node, key []byte) (before, from *node) {
	if n == nil {
		return nil, nil
	}
	if bytes.Compare(n.key, key) < 0 {
		before, from = split(n.right, key)
		return with(n, n.left, before), from
	}
	before, from = split(n.left, key)
	return before, with(n, from, n.right)
}

// join puts together two trees, all of a before all of b.
func join(a, b *node) *node {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	case a.weight > b.weight:
		return with(a, a.left, join(a.right, b))
	default:
		return with(b, join(a, b.left), b.right)
	}
}

func remove(n *node, key []byte) *node {
	if find(n, key) == nil {
		return n
	}
	return cut(n, key)
}

func cut(n *node, key []byte) *node {
	switch c := bytes.Compare(key, n.key); {
	case c < 0:
		return with(n, cut(n.left, key), n.right)
	case c > 0:
		return with(n, n.left, cut(n.right, key))
	default:
		return join(n.left, n.right)
	}
}

func removeRange(n *node, lo, hi []byte) *node {
	if bytes.Compare(lo, hi) >= 0 {
		return n
	}
	before, rest := split(n, lo)
	_, after := split(rest, hi)
	return join(before, after)
}

// cursor walks a span; path holds the nodes still to visit, the next one last.
type cursor struct {
	span    journal.Span
	reverse bool
	path    []*node
	at      *node
}

func newCursor(root *node, span journal.Span, reverse bool) *cursor {
	c := &cursor{span: span, reverse: reverse}
	for n := root; n != nil; {
		switch {
		case reverse && bytes.Compare(n.key, span.Hi) >= 0:
			n = n.left
		case reverse:
			c.path = append(c.path, n)
			n = n.right
		case bytes.Compare(n.key, span.Lo) < 0:
			n = n.right
		default:
			c.path = append(c.path, n)
			n = n.left
		}
	}
	return c
}

func (c *cursor) Next() bool {
	c.at = nil
	if len(c.path) == 0 {
		return false
	}
	n := c.path[len(c.path)-1]
	c.path = c.path[:len(c.path)-1]
	if c.reverse && bytes.Compare(n.key, c.span.Lo) < 0 || !c.reverse && bytes.Compare(n.key, c.span.Hi) >= 0 {
		c.path = nil
		return false
	}
	c.at = n
	if c.reverse {
		for m := n.left; m != nil; m = m.right {
			c.path = append(c.path, m)
		}
	} else {
		for m := n.right; m != nil; m = m.left {
			c.path = append(c.path, m)
		}
	}
	return true
}

func (c *cursor) Key() []byte   { return c.at.key }
func (c *cursor) Value() []byte { return c.at.value }
func (c *cursor) Err() error    { return nil }
func (c *cursor) Close() error  { c.path, c.at = nil, nil; return nil }
