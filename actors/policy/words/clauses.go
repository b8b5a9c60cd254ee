// Package words reads the person's own words, in English: what they ask for now, and what they state as a standing rule. It is
// deterministic, so that no model decides what somebody asked for. Where words can be read in two ways, they ask for less.
package words

import (
	"slices"
	"strings"
	"unicode"
)

// sentence is one sentence as its clauses: those joined by "and", "or", commas, "then".
type sentence struct {
	text    string
	clauses [][]string // words in small letters
	asks    bool       // it ends with a question mark
}

// sentences parts text. Abbreviation dots and those inside addresses part nothing.
func sentences(text string) []sentence {
	var list []sentence
	runes := []rune(text)
	start := 0
	flush := func(end int, asks bool) {
		if s := strings.TrimSpace(string(runes[start:end])); s != "" {
			list = append(list, sentence{text: s, clauses: clauses(s), asks: asks})
		}
		start = end + 1
	}
	for i, r := range runes {
		last := i+1 == len(runes)
		switch {
		case r == '\n' || r == ';':
			flush(i, false)
		case (r == '.' || r == '!' || r == '?') && (last || unicode.IsSpace(runes[i+1]) || strings.ContainsRune(`"')”’`, runes[i+1])):
			flush(i, r == '?')
		}
	}
	if start < len(runes) {
		flush(len(runes), false)
	}
	return list
}

var quotes = strings.NewReplacer("’", "'", "‘", "'", "“", "", "”", "")

// clauses parts a sentence at its joints. "but" and "instead" stay as the first word, because they end what was said before.
func clauses(s string) [][]string {
	var list [][]string
	var now []string
	flush := func() {
		if len(now) > 0 {
			list = append(list, now)
			now = nil
		}
	}
	for _, w := range strings.Fields(strings.ToLower(quotes.Replace(s))) {
		joint := strings.HasSuffix(w, ",") || strings.HasSuffix(w, ":")
		w = strings.Trim(w, ",:;.!?\"()[]{}*_`")
		switch w {
		case "":
		case "and", "then", "or", "&", "also", "plus", "-", "–", "—":
			flush()
			continue
		case "but", "instead", "except", "without":
			flush()
			now = append(now, w)
		default:
			now = append(now, w)
		}
		if joint {
			flush()
		}
	}
	flush()
	return list
}

// fillers come before what is asked and mean nothing for it.
var fillers = words(`please kindly ok okay yes yeah yep sure hey hi hello dear so well now just go ahead quickly today tomorrow tonight later
	first next finally lastly maybe perhaps thanks great good fine alright right hmm actually really btw also again still simply`)

// leads are phrases that an order can begin with.
var leads = [][]string{
	words("can you"), words("could you"), words("would you"), words("will you"), words("can u"), words("could u"), words("can we"), words("could we"), words("let's"), words("lets"), words("let us"),
	words("i want you to"), words("i need you to"), words("i'd like you to"), words("i would like you to"), words("i want to"), words("i need to"), words("i'd like to"), words("i would like to"),
	words("i'd love you to"), words("i have to"), words("you can"), words("you may"), words("you should"), words("you must"), words("you could"), words("you need to"), words("you have to"),
	words("make sure to"), words("make sure you"), words("be sure to"), words("remember to"), words("don't forget to"), words("do not forget to"), words("try to"), words("help me to"), words("help me"),
	words("go on"), words("feel free to"), words("would you mind"), words("do you think you can"), words("is it possible to"), words("want you to"), words("need you to"),
}

func words(s string) []string { return strings.Fields(s) }

// order strips what comes before an order; the rest begins with its verb when the clause is one.
func order(clause []string) []string {
	for range 8 {
		before := len(clause)
		for len(clause) > 0 && slices.Contains(fillers, clause[0]) {
			clause = clause[1:]
		}
		for _, l := range leads {
			if len(clause) > len(l) && slices.Equal(clause[:len(l)], l) {
				clause = clause[len(l):]
				break
			}
		}
		if len(clause) == before {
			break
		}
	}
	return clause
}

var negations = words(`don't dont not never no stop cannot can't cant won't wont shouldn't shouldnt mustn't mustnt needn't neednt without avoid nothing nobody except`)

// negated: the clause begins by saying that something shall not be done. A negation deeper in it counts as well, unless it only
// tells about something ("the meeting is not on Friday" asks for nothing anyway).
func negated(clause []string) bool {
	c := order(clause)
	for len(c) > 0 && (c[0] == "but" || c[0] == "you" || c[0] == "we" || c[0] == "do" || c[0] == "must" || c[0] == "should" || c[0] == "can" || c[0] == "ever") {
		c = c[1:]
	}
	return len(c) > 0 && slices.Contains(negations, c[0])
}

// conditional sentences, questions about what was done, and what somebody else does ask for nothing now.
var notOrders = words(`if whenever unless once when after before while until did have has had was were is are does why who what which where how should shall
	i i'll i'm i've i'd we we'll he he'll she she'll they they'll it it's my our his her their the a an this that these those there suppose imagine`)

var askFirst = []string{"ask me", "ask first", "asking me", "check with me", "checking with me", "confirm with me", "let me see", "show me first", "show it to me", "wait for my", "run it by me", "let me check", "let me review",
	"my ok", "my approval", "my permission", "my go-ahead", "i'll send", "i will send", "let me send", "let me press", "hand it to me"}

// orders are the clauses of a text that can ask for something, and those that forbid it, in their order.
type said struct {
	words  []string // of an order: from its verb on
	whole  []string
	forbid bool
}

func ordersOf(text string) (list []said) {
	for _, s := range sentences(text) {
		flat := " " + strings.Join(slices.Concat(s.clauses...), " ") + " "
		if slices.ContainsFunc(askFirst, func(p string) bool { return strings.Contains(flat, " "+p+" ") }) {
			list = append(list, said{whole: slices.Concat(s.clauses...), forbid: true})
			continue
		}
		no := false
		for i, c := range s.clauses {
			switch {
			case negated(c):
				no = true
			case c[0] == "but" || c[0] == "instead":
				no = false
				c = c[1:]
			}
			o := order(c)
			if len(o) == 0 {
				continue
			}
			if i == 0 && slices.Contains(notOrders, o[0]) && conditional(o[0]) {
				break // the whole sentence is a condition
			}
			if !no && slices.Contains(notOrders, o[0]) {
				list = append(list, said{whole: c})
				continue
			}
			list = append(list, said{words: o, whole: c, forbid: no})
		}
	}
	return list
}

func conditional(w string) bool {
	return slices.Contains(words("if whenever unless once when after while until suppose imagine"), w)
}
