package words

import "slices"

// kind is what a clause does to what was asked for.
type kind int

const (
	mention  kind = iota // it asks for no deed, but names what a look-up could be about
	order                // it begins with a verb
	forbid               // it says that something shall not be done
	hold                 // ask-first: nothing else in its message asks either
	takeBack             // "no", "wait": what was asked before it no longer is
)

// item is a clause of a message, with the fragments that go on with it ("send Priya, Sam and Ravi an email").
type item struct {
	kind  kind
	own   []string // an order's clause, from its verb on
	words []string // own and its fragments
	named []string // as words, with what stands before the verb
	whole []string // as named, with what it quotes and with its content
	known bool     // its verb is one that people say
}

// reading is the state of reading one message.
type reading struct {
	items   []item
	content int // how far the words are content, not orders
	line    int // of content that ends with its line
}

const (
	contentNone = iota
	contentLine // "email Priya: ..."
	contentAll  // "summarize this: ..."
)

// typed is how far from the ends of a message its words are read, in bytes. Nobody types more; what is longer was put in.
const typed = 16 << 10

// itemsOf reads a message.
func itemsOf(message string) []item {
	var r reading
	list := sentences(ends(message, typed))
	first := pastedBefore(list)
	for i, s := range list {
		if r.content == contentLine && s.line != r.line {
			r.content = contentNone
		}
		was := r.content
		if i < first {
			r.content = contentAll
		}
		r.sentence(s)
		if i < first {
			r.content = was
		} else if r.content == contentNone && i+1 < len(list) && list[i+1].line > s.line && pointsAtText(s) {
			r.content = contentAll
		}
	}
	return r.items
}

// pointsAtText: the sentence speaks of a text that stands beside it: "summarize this", "here is what Sam wrote".
func pointsAtText(s sentence) bool {
	f := s.flat()
	return readers.any(f) && slices.ContainsFunc(f, func(w string) bool { return is(w, "this", "these", "following", "below", "here") })
}

// pastedBefore is the number of sentences, from the start, that a later "summarize this" below a blank line is about.
func pastedBefore(list []sentence) int {
	for i := len(list) - 1; i > 0; i-- {
		f := list[i].flat()
		if list[i].block > list[0].block && readers.any(f) && (slices.Contains(f, "above") || slices.Contains(f, "this")) {
			for i > 0 && list[i-1].block == list[i].block {
				i--
			}
			return i
		}
	}
	return 0
}

// clauseState goes from clause to clause of a sentence.
type clauseState struct {
	no        bool // the clauses so far say what shall not be done
	released  bool // "don't worry": what a comma parts from it may ask
	subject   bool // somebody else is who acts in clauses joined by "and"
	polite    bool // "can you ...": a question that asks for it
	condition bool
	dangling  bool // "but only if ...": a condition of what was said before
	first     int  // its first item
	last      int  // one more than its last order's place
}

func (r *reading) sentence(s sentence) {
	st := clauseState{first: len(r.items)}
	f := s.flat()
	if asksFirst(f) {
		r.items = append(r.items, item{kind: hold, whole: f})
		return
	}
	for i, c := range s.clauses {
		if c.joint == ":" && i > 0 {
			r.afterColon(s, s.clauses[i-1])
		}
		r.clause(&st, c)
	}
	orders := 0
	for i := range r.items[st.first:] {
		if it := &r.items[st.first+i]; it.kind == order {
			orders++
			if st.condition || s.asks && !st.polite {
				it.kind = mention
			}
		}
	}
	if st.dangling && orders == 0 {
		r.items = append(r.items, item{kind: takeBack}) // "But only if she agrees."
	}
}

// listWords introduce orders with a colon; any other words before one introduce what is to be written or read.
var listWords = setOf("following these things thing todo to-do list steps step tasks task first second third next also so")

func (r *reading) afterColon(s sentence, before clause) {
	level := contentLine
	switch w := before.words; {
	case readers.any(w) || is(w[0], "from", "subject", "sent"):
		level = contentAll
	case listWords.any(w), w[len(w)-1] == "please", len(w) == 1 && !verbs[w[0]]:
		return
	}
	if level > r.content {
		r.content, r.line = level, s.line
	}
}

func (r *reading) clause(st *clauseState, c clause) {
	w := c.words
	addressed := w[0] == "please"
	switch {
	case turned[w[0]]:
		if st.no, st.subject, w = false, false, w[1:]; len(w) == 0 {
			return
		}
	case st.released && c.joint == ",":
		st.no, st.released = false, false
	}
	o, polite := strip(w)
	addressed = addressed || polite
	if r.content == contentNone && conditional(affirmed(o)) {
		st.condition, st.dangling = true, st.dangling || is(c.words[0], "but", "only", "unless")
	}
	switch it := (item{own: o, words: slices.Clip(o), named: slices.Clip(w), whole: slices.Clip(c.all())}); {
	case takesBack(w) && !released(w):
		st.no, st.released = slices.ContainsFunc(w, func(x string) bool { return negations[x] && x != "no" }), false
		r.add(takeBack, it)
		if len(o) > 1 && leads(o) && !negated(o) && r.content == contentNone {
			it.known = true
			r.add(order, it) // "cancel it" may be what is asked
		}
	case len(o) == 0:
		st.polite = st.polite || addressed
	case negated(o):
		st.no, st.released = true, released(w)
		r.add(forbid, it)
	case st.no || negations.any(head(o)):
		r.add(forbid, it)
	case r.content != contentNone:
		r.extend(st, it, false)
	default:
		st.polite = st.polite || addressed
		r.assert(st, c.joint, it, addressed)
	}
}

// assert adds a clause that forbids nothing: an order, a fragment that goes on with one, or a statement.
func (r *reading) assert(st *clauseState, joint string, it item, addressed bool) {
	o := it.own
	carried := st.subject && is(joint, "and", "or", "then", "&") && !addressed
	switch {
	case statement[o[0]]:
		st.subject = true
		if determiners[o[0]] && !finite.any(o) && r.extend(st, it, true) {
			st.subject = false
		}
		r.add(mention, it)
	case carried:
		r.add(mention, it)
	case leads(o):
		it.known = true
		st.subject = delegates(o)
		r.add(order, it)
		st.last = len(r.items)
	case finite.any(o):
		st.subject = true
		r.add(mention, it)
	default: // "Sam", or a verb that only a tool of its own knows
		if !r.extend(st, it, true) {
			st.subject = true
		}
		r.add(order, it)
	}
}

func (r *reading) add(k kind, it item) {
	it.kind = k
	r.items = append(r.items, it)
}

// extend lets a fragment, or what does not speak for itself, go on with the last order of its sentence.
func (r *reading) extend(st *clauseState, it item, speaks bool) bool {
	if st.last == 0 {
		return false
	}
	last := &r.items[st.last-1]
	if speaks {
		last.words, last.named = append(last.words, it.words...), append(last.named, it.named...)
	}
	last.whole = append(last.whole, it.whole...)
	return true
}

// turned words end what a negation or a subject before them said.
var turned = setOf("but instead just rather please")
