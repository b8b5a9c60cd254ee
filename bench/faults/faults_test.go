package faults

import (
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// The same seed draws the same script, another one another.
func TestAPlanIsItsSeed(t *testing.T) {
	s := scenarios[0]
	if a, b := draw(7, s, 3), draw(7, s, 3); !reflect.DeepEqual(a, b) {
		t.Errorf("%v\n%v", a, b)
	}
	if reflect.DeepEqual(draw(7, s, 3).chats, draw(8, s, 3).chats) || reflect.DeepEqual(draw(7, s, 3).chats, draw(7, s, 4).chats) {
		t.Error("two plans are the same")
	}
	seen := map[string]bool{}
	for round := range 20 {
		for _, steps := range draw(1, s, round).chats {
			for _, st := range steps {
				if m := order.FindStringSubmatch(st.text()); m == nil || m[1] != st.id || m[2] != st.do || seen[st.id] {
					t.Fatalf("the model cannot read %q", st.text())
				}
				seen[st.id] = true
			}
		}
	}
}

func TestOptions(t *testing.T) {
	for want, o := range map[string]Options{"make bin/sentient-demo": {}, "there is no scenario": {Engine: "doc.go", Scenarios: []string{"x"}}, "negative": {Engine: "doc.go", Rounds: -1}} {
		if err := o.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v", err)
		}
	}
	if o := (Options{Engine: "doc.go"}); o.Validate() != nil || o.Rounds != 4 || o.Seed != 1 {
		t.Errorf("%+v", o)
	}
}

// TestFaults is the short version of make faults: one round of every fault against the real engine, several at a time because
// they mostly wait.
func TestFaults(t *testing.T) {
	if testing.Short() {
		t.Skip("starts the real engine many times")
	}
	engine := filepath.Join(t.TempDir(), "sentient-demo")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-tags", "demo", "-o", engine, "sentient/cmd/sentient").CombinedOutput(); err != nil {
		t.Fatalf("the engine cannot be built: %v\n%s", err, out)
	}
	names, results := make(chan string), make(chan Result)
	go func() {
		defer close(names)
		for _, name := range Names() {
			names <- name
		}
	}()
	for range 4 {
		go func() {
			for name := range names {
				r, err := Run(t.Context(), Options{Engine: engine, Dir: t.TempDir(), Seed: 1, Rounds: 1, Scenarios: []string{name}, Progress: t.Logf})
				if err != nil {
					t.Error(name, err)
				}
				results <- r
			}
		}()
	}
	for range scenarios {
		proves(t, <-results)
	}
}

// proves holds that a run was one: something was promised, something failed, nothing was broken.
func proves(t *testing.T, r Result) {
	t.Helper()
	for _, v := range r.Violations() {
		t.Error(v)
	}
	for _, s := range r.Scenarios {
		if s.Skipped == "" && (s.Acked == 0 || s.Turns == 0 || s.Faults == 0) {
			t.Errorf("%s proves nothing: %d messages acknowledged, %d turns, %d faults", s.Name, s.Acked, s.Turns, s.Faults)
		}
	}
}

// The report names tests as "file:Test", and they are there; and it leaves no scenario out.
func TestTheReportNamesWhatIsThere(t *testing.T) {
	const report = "../FAULTS.md"
	b, err := os.ReadFile(report)
	if err != nil {
		t.Fatal(err)
	}
	named := regexp.MustCompile("`([a-z/_-]+_test\\.go):(Test[A-Za-z0-9]+)`").FindAllStringSubmatch(string(b), -1)
	if len(named) < 40 {
		t.Errorf("the report names only %d tests", len(named))
	}
	for _, m := range named {
		source, err := os.ReadFile(filepath.Join("../..", m[1]))
		if err != nil || !strings.Contains(string(source), "func "+m[2]+"(t ") {
			t.Errorf("%s is not in %s: %v", m[2], m[1], err)
		}
	}
	head, _, _ := strings.Cut(string(b), "## The last run")
	for _, name := range Names() {
		if !regexp.MustCompile(`[|,] ` + name + `\b`).MatchString(head) {
			t.Errorf("the scenario %s proves nothing in the report", name)
		}
	}
}
