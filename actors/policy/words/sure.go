package words

import "slices"

// PermanentDelete says whether the person's words, oldest first, ask for a delete that has no way back. The words must
// speak of the delete: "keep it forever" does not. A later "no" or "move it to the trash" takes it back.
func PermanentDelete(messages []string) bool {
	deletes, permanent := false, false
	for _, m := range messages {
		for _, it := range itemsOf(m) {
			w := head(it.named)
			at, n := final(w)
			switch {
			case it.kind == takeBack || it.kind == hold:
				permanent = false
			case it.kind == forbid:
				permanent = (permanent || deletes && spares(it.named)) && n == 0
			case n > 0 && it.kind == order && removes(w):
				deletes, permanent = true, true
			case n > 0:
				permanent = permanent || deletes && weightlessBut(w, at, n)
			case it.kind == order && toTrash(w):
				deletes, permanent = true, false
			default:
				deletes = deletes || it.kind == order && removes(w)
			}
		}
	}
	return permanent
}

var (
	removing = setOf("delete remove erase destroy purge clear wipe trash discard shred nuke hard-delete")
	bins     = setOf("trash bin")
	setEcho  = setOf("i mean it that them this want gone yes be should do make sure is no")
)

func removes(w []string) bool { return removing.any(w) || contains(w, words("get rid of")) }

func toTrash(w []string) bool {
	i := slices.IndexFunc(w, func(x string) bool { return bins[x] })
	return i == 0 || i > 1 && is(w[i-2], "to", "in", "into") && w[i-1] == "the"
}

// spares: "not to the trash", "without the trash".
func spares(w []string) bool {
	return is(w[0], "not", "without", "no") && bins[w[len(w)-1]] && len(w) <= 4
}

var finals = []struct {
	phrase []string
	ends   bool // nothing of weight follows it
}{
	{words("permanently"), false}, {words("irreversibly"), false}, {words("irrevocably"), false}, {words("permanent delete"), false}, {words("permanent deletion"), false}, {words("for good"), true}, {words("forever"), true},
	{words("for ever"), true}, {words("beyond recovery"), true}, {words("hard delete"), false}, {words("hard-delete"), false}, {words("skip the trash"), false}, {words("skip the bin"), false},
	{words("skipping the trash"), false}, {words("bypass the trash"), false}, {words("bypassing the trash"), false}, {words("completely delete"), false}, {words("delete completely"), false},
}

// final finds words that say there is no way back: where, and how many.
func final(w []string) (at, n int) {
	for _, f := range finals {
		i := find(w, f.phrase)
		if i < 0 || i > 0 && is(w[i-1], "the", "a", "keep", "kept", "last", "lasts") {
			continue
		}
		if next := i + len(f.phrase); f.ends && next < len(w) && !fillers[w[next]] && !is(w[next], "this", "from", "it", "that") {
			continue
		}
		return i, len(f.phrase)
	}
	return 0, 0
}

// weightlessBut: nothing but the phrase says something: "and I mean for good".
func weightlessBut(w []string, at, n int) bool {
	for i, x := range w {
		if (i < at || i >= at+n) && !fillers[x] && !setEcho[x] {
			return false
		}
	}
	return true
}

// ReplyAll says whether the person's words, oldest first, ask to answer everybody. A later "no", "only Arjun" or an answer
// to somebody alone takes it back.
func ReplyAll(messages []string) bool {
	all := false
	for _, m := range messages {
		for _, it := range itemsOf(m) {
			switch {
			case it.kind == takeBack || it.kind == hold:
				all = false
			case it.kind == forbid:
				all = all && !is(it.named[0], "except", "not", "without") && !slices.ContainsFunc(it.named, func(w string) bool {
					return is(w, "reply", "answer", "respond", "everyone", "everybody", "all", "reply-all")
				})
			case it.kind == order && toEverybody(it):
				all = true
			case slices.Contains(it.whole, "only"), it.whole[0] == "just", it.kind == order && is(it.own[0], "reply", "answer", "respond"):
				all = false
			}
		}
	}
	return all
}

var (
	tellers  = setOf("reply answer respond tell email send mail message write let inform notify cc copy update")
	everyone = [][]string{words("everyone"), words("everybody"), words("all of them"), words("them all"), words("the whole thread"), words("the whole group"), words("the whole team"), words("the whole list"), words("the entire thread"),
		words("the entire group"), words("all recipients"), words("all participants")}
)

// toEverybody: the order's words go to everybody, without exceptions.
func toEverybody(it item) bool {
	if slices.ContainsFunc(it.whole, func(w string) bool {
		return is(w, "except", "but", "besides", "excluding", "apart", "minus", "without", "other", "not")
	}) {
		return false
	}
	w := head(it.own)
	if i := find(w, words("reply all")); i >= 0 && endsAll(w, i+2) || slices.Contains(w, "reply-all") || slices.Contains(w, "replyall") {
		return true
	}
	if !tellers[w[0]] {
		return false
	}
	for i := 1; i < len(w); i++ {
		if i > 1 && !is(w[i-1], "to", "with", "it") {
			continue
		}
		if slices.ContainsFunc(everyone, func(e []string) bool { return starts(w[i:], e) }) {
			return true
		}
		if w[i] == "all" && is(w[0], "reply", "answer", "respond") && endsAll(w, i+1) {
			return true
		}
	}
	return false
}

// endsAll: "all" stands alone there: not "all my emails".
func endsAll(w []string, at int) bool {
	return at >= len(w) || fillers[w[at]] || is(w[at], "that", "with", "to", "on", "in", "about", "saying") || starts(w[at:], words("of them"))
}
