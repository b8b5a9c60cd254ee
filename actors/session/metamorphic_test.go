package session

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"
)

// The metamorphic tests play random scripts to chats and compare what came of them with what came of the same script played
// otherwise: twice, cut by restarts and kills, slower, watched, beside another chat. The model answers as a pure function of what
// it is shown, so every difference in what it was shown is a difference in the transcript.
//
// METAMORPHIC_SEED=n plays that seed alone, METAMORPHIC_RUNS=n that many new ones; without either the same few are played
// everywhere. A failure prints its seed and the smallest script that still fails.

// relation is a property of scripts: a script of the seed, and what is wrong with it ("" nothing).
type relation struct {
	runs   int // of every day
	steps  int
	script func(r *rand.Rand, n int) []step
	wrong  func(t *testing.T, script []step) string
}

func (rel relation) hold(t *testing.T) {
	t.Helper()
	for _, seed := range seeds(t, rel.runs) {
		r := rand.New(rand.NewPCG(seed, 17))
		script := rel.script(r, 4+r.IntN(rel.steps))
		problem := rel.wrong(t, script)
		if problem == "" {
			continue
		}
		small, problem := shrink(script, problem, time.Now().Add(40*time.Second), func(s []step) string { return rel.wrong(t, s) })
		t.Errorf("METAMORPHIC_SEED=%d, %d of %d steps:\n%s%s", seed, len(small), len(script), printed(small), problem)
	}
}

func seeds(t *testing.T, n int) (list []uint64) {
	t.Helper()
	if s := os.Getenv("METAMORPHIC_SEED"); s != "" {
		seed, err := strconv.ParseUint(s, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		return []uint64{seed}
	}
	first := uint64(1)
	if s := os.Getenv("METAMORPHIC_RUNS"); s != "" {
		runs, err := strconv.Atoi(s)
		if err != nil {
			t.Fatal(err)
		}
		n, first = runs, uint64(time.Now().UnixNano())
		t.Logf("the first seed is %d", first)
	} else if testing.Short() {
		n = max(1, n/4)
	}
	for i := range n {
		list = append(list, first+uint64(i))
	}
	return list
}

// alone plays one chat.
func alone(t *testing.T, s setup, script []step) *played {
	t.Helper()
	return play(t, s, part{label: "A", script: script})
}

// wrongs are the faults of games, in one text.
func wrongs(games ...*played) string {
	for _, g := range games {
		if len(g.faults) > 0 {
			return strings.Join(g.faults, "\n")
		}
	}
	return ""
}

// unlike says where two chats differ.
func unlike(a, b chatPlayed) string {
	for _, x := range []struct {
		what string
		a, b []string
	}{{"messages", a.rows, b.rows}, {"the chat's row", []string{a.row}, []string{b.row}}, {"the event log", a.log, b.log},
		{"answers to the steps", a.acks, b.acks}, {"what is left", a.left, b.left}} {
		for i := range max(len(x.a), len(x.b)) {
			if p, q := at(x.a, i), at(x.b, i); p != q {
				return fmt.Sprintf("%s differ at %d:\n%s\n%s", x.what, i, p, q)
			}
		}
	}
	return ""
}

func at(list []string, i int) string {
	if i < len(list) {
		return list[i]
	}
	return "(none)"
}

// firstOf is the first text that is not empty.
func firstOf(texts ...string) string {
	for _, s := range texts {
		if s != "" {
			return s
		}
	}
	return ""
}

// Relation 1: the same script, played twice, gives the same transcript, row, log and answers.
func TestTheSameScriptGivesTheSameChat(t *testing.T) {
	relation{12, 30, someScript, func(t *testing.T, script []step) string {
		a, b := alone(t, setup{}, script), alone(t, setup{}, script)
		return firstOf(wrongs(a, b), unlike(a.chats[0], b.chats[0]))
	}}.hold(t)
}

// cutWhereQuiet adds ends of the engine and naps that take effect where nothing is in flight.
func cutWhereQuiet(r *rand.Rand, n int) []step {
	return insert(r, someScript(r, n), 0.4, func() step {
		return pick(r, step{Do: "restart", With: "quiet"}, step{Do: "kill", With: "quiet"}, step{Do: "idle", With: "quiet", D: 3*time.Minute + 1234567})
	})
}

func sameWithoutCuts(s setup) func(t *testing.T, script []step) string {
	return func(t *testing.T, script []step) string {
		cut, plain := alone(t, s, script), alone(t, setup{}, without(script, isCut))
		return firstOf(wrongs(cut, plain), unlike(plain.chats[0], cut.chats[0]))
	}
}

// Relation 2: restarts, kills and sleep while nothing is in flight change nothing.
func TestQuietCutsAreInvisible(t *testing.T) {
	relation{12, 30, cutWhereQuiet, sameWithoutCuts(setup{})}.hold(t)
}

func TestQuietCutsAreInvisibleOnTheRealStore(t *testing.T) {
	relation{2, 20, cutWhereQuiet, sameWithoutCuts(setup{pebble: true})}.hold(t)
}

// cutAnywhere ends the engine in the middle of what happens, once or twice.
func cutAnywhere(r *rand.Rand, n int) []step {
	script := someScript(r, n)
	for range 1 + r.IntN(2) {
		script = inWait(r, script, pick(r, step{Do: "restart"}, step{Do: "kill"}))
	}
	if r.IntN(2) == 0 {
		i := r.IntN(len(script))
		script = append(append(append([]step{}, script[:i]...), step{Do: "killwrite", Tag: r.IntN(4)}), script[i:]...)
	}
	return script
}

// fullForAWhile has no room on the disk for some time, and may be cut besides.
func fullForAWhile(r *rand.Rand, n int) []step {
	script := someScript(r, n)
	for range 1 + r.IntN(2) {
		script = inWait(r, inWait(r, script, step{Do: "full"}), step{Do: "room"})
	}
	if r.IntN(3) == 0 {
		script = inWait(r, script, pick(r, step{Do: "restart"}, step{Do: "kill"}))
	}
	return script
}

func anyTrouble(r *rand.Rand, n int) []step {
	return pick(r, cutAnywhere, cutAnywhere, fullForAWhile)(r, n)
}

// A disk that is full for a while loses nothing that was acknowledged, and each turn that began still ends once.
func TestAFullDiskIsLawful(t *testing.T) {
	relation{10, 25, fullForAWhile, func(t *testing.T, script []step) string { return wrongs(alone(t, setup{}, script)) }}.hold(t)
}

// Relation 3: an end of the engine in the middle changes no more than the laws allow, which every game checks at each cut and at
// its end (metacheck_test.go); up to the first cut the transcript is the beginning of the undisturbed one.
func lawfulCuts(s setup) func(t *testing.T, script []step) string {
	return func(t *testing.T, script []step) string {
		cut, plain := alone(t, s, script), alone(t, setup{}, without(script, isCut))
		problem := wrongs(cut, plain)
		for i, r := range cut.before {
			if problem == "" && !plain.chats[0].failed && r != at(plain.chats[0].rows, i) {
				problem = fmt.Sprintf("before the cut it was %s\nundisturbed %s", r, at(plain.chats[0].rows, i))
			}
		}
		return problem
	}
}

func TestCutsInTheMiddleAreLawful(t *testing.T) {
	relation{30, 25, cutAnywhere, lawfulCuts(setup{})}.hold(t)
}

func TestCutsInTheMiddleAreLawfulOnTheRealStore(t *testing.T) {
	relation{3, 20, cutAnywhere, lawfulCuts(setup{pebble: true})}.hold(t)
}

// repeatMessages sends messages again, with their client_id, any time after they were sent.
func repeatMessages(r *rand.Rand, script []step) []step {
	return insert(r, script, 0.4, func() step { return step{Do: "again", With: "extra", Tag: 1 + r.IntN(12)} })
}

// Relation 4: how long a wait is in one piece, sleep, sockets that listen, and messages that are sent again change nothing.
func TestWhatChangesNothing(t *testing.T) {
	for name, v := range map[string]struct {
		s      setup
		change func(r *rand.Rand, script []step) []step
	}{
		"waits in pieces":     {setup{}, splitWaits},
		"asleep at once":      {setup{idle: time.Millisecond}, nil},
		"more sockets":        {setup{sockets: 3}, nil},
		"the same client_ids": {setup{}, repeatMessages},
		"all of it":           {setup{idle: 70 * time.Millisecond, sockets: 2}, func(r *rand.Rand, s []step) []step { return repeatMessages(r, splitWaits(r, s)) }},
	} {
		t.Run(name, func(t *testing.T) {
			relation{3, 30, someScript, func(t *testing.T, script []step) string {
				other := script
				if v.change != nil {
					other = v.change(newRand(script), script)
				}
				a, b := alone(t, setup{}, script), alone(t, v.s, other)
				return firstOf(wrongs(a, b), unlike(a.chats[0], b.chats[0]))
			}}.hold(t)
		})
	}
}

// Relation 5: two chats beside each other are each as alone.
func TestTwoChatsAreEachAsAlone(t *testing.T) {
	relation{6, 40, someScript, func(t *testing.T, script []step) string {
		var a, b []step // the steps of a script are dealt to the chats, so that a smaller script is a smaller game
		for i, s := range without(script, isHalt) {
			if i%2 == 0 {
				a = append(a, s)
			} else {
				b = append(b, s)
			}
		}
		first, second := part{"A", 0, a}, part{"B", 123456789, b}
		one, two, both := play(t, setup{}, first), play(t, setup{}, second), play(t, setup{}, first, second)
		return firstOf(wrongs(one, two, both), unlike(one.chats[0], both.chats[0]), unlike(two.chats[0], both.chats[1]))
	}}.hold(t)
}

// The scripts reach what the relations are about; else they would prove too little.
func TestTheScriptsReachWhatMatters(t *testing.T) {
	reached := map[string]int{}
	for seed := range uint64(40) {
		r := rand.New(rand.NewPCG(seed, 99))
		g := alone(t, setup{}, anyTrouble(r, 30))
		if problem := wrongs(g); problem != "" {
			t.Fatalf("seed %d: %s", seed, problem)
		}
		reached["a cut in a turn"] += g.hot
		reached["a cut outside"] += g.cuts - g.hot
		for _, job := range g.jobs {
			reached["asked for "+job]++
		}
		c := g.chats[0]
		for _, s := range append(append(append([]string{}, c.acks...), c.log...), c.rows...) {
			for _, what := range marks {
				if strings.Contains(s, what) {
					reached[what]++
				}
			}
		}
	}
	for _, what := range append(marks, "a cut in a turn", "a cut outside", "asked for chat", "asked for titles", "asked for memory") {
		if reached[what] == 0 {
			t.Errorf("never: %s", what)
		}
	}
	t.Log(reached)
}

// marks are what answers to steps, log and transcript say when something came to pass.
var marks = []string{"Steered:true", "Queued:true", "Repeated:true", "cancel: true", "cancel: false", "answer: true", "answer: false Nothing is waiting", "answer: false decision must",
	"react: true", ", true", "undo: false", "(interrupted)", "(stopped)", "NOT SENT", "NOT DONE", "not known whether it went through", "Sentient stopped before", `"ok":true`, `"dropped":[`, `"type":"error"`,
	`"decision":"allow_session"`, `"name":"trusted"`, "your screen", "user_interjection", "#wrong", "The disk is full",
	"stopAll: true", "resume: false"}
