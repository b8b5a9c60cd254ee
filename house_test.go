// Package house holds the tests that keep the plan of the house: who may import whom, and that every room says what it owns.
package house

import (
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
)

// rules: a room (a folder, the longest match counts) may import the listed rooms and nothing else of ours. A rule names its
// reason, because a rule that nobody understands is broken first.
var rules = []struct {
	room    string
	imports []string
	why     string
}{
	{"proto", nil, "records are data"},
	{"runtime/act", nil, "the only door to the actor library stands alone"},
	{"runtime/work", []string{"runtime/act"}, "runs are started beside mailboxes"},
	{"runtime/proc", []string{"runtime/work"}, "a child process is a run"},
	{"runtime/bus", nil, "delivery knows no domain"},
	{"runtime/app", []string{"runtime/act", "runtime/work", "runtime/bus"}, "start, stop and settings know no feature"},
	{"runtime/vec", nil, "arithmetic knows nobody"},
	{"runtime/acttest", []string{"runtime/act", "runtime/work"}, "the test bubble holds the runtime"},
	{"storage/journal", []string{"proto"}, "the store knows no feature, so it can be replicated later"},
	{"storage/pebblestore", []string{"storage/journal"}, "an engine of bytes"},
	{"storage/memstore", []string{"storage/journal"}, "an engine of bytes"},
	{"storage/storagetest", []string{"storage/journal"}, "one suite for every engine"},
	{"storage/table", []string{"storage/journal"}, "rows are written through the journal"},
	{"storage/search", []string{"storage/table", "runtime/vec"}, "an index can be thrown away and rebuilt from the tables"},
	{"storage/blob", nil, "files are bytes"},
	{"storage/secret", nil, "secrets meet nobody"},
	{"actors/msg", []string{"proto"}, "what crosses rooms has no logic"},
	{"actors/wire", []string{"actors/msg", "proto"}, "the form of events, shared by those who publish"},
	{"actors/count", []string{"actors/msg", "proto", "storage/journal", "storage/table"}, "the form of a counted model call, shared by those who call and the room that adds up"},
	{"actors/agent", []string{"actors/msg"}, "the turn is pure"},
	{"actors/policy", []string{"actors/msg"}, "consent is pure"},
	{"actors/tool", []string{"actors/msg"}, "the tool registry is pure"},
	{"actors/claudecode", []string{"actors/msg", "runtime/app"}, "the rules of Claude Code are pure"},
	{"actors/workspace", []string{"actors/msg"}, "a person's own files"},
	{"storage/keep", nil, "copies are files"},
	{"actors", []string{"runtime", "proto", "actors/msg", "actors/wire", "actors/count", "storage/journal", "storage/table", "storage/keep", "actors/agent", "actors/policy", "actors/tool", "actors/claudecode"},
		"an actor reaches the world only through interfaces it declares"},
	{"transport/edge", []string{"actors/msg", "runtime", "storage/table", "storage/search", "storage/blob", "storage/journal"}, "the edge asks rooms through interfaces it declares"},
	{"transport/window", nil, "static files"},
	{"transport", []string{"actors/msg", "runtime/work", "runtime/proc", "runtime/vec", "storage/blob", "transport"}, "what touches the outside knows no domain"},
	{"nodes", []string{"runtime", "actors/msg", "proto", "storage/journal", "storage/table"}, "devices"},
	{"cmd", []string{""}, "the one place that wires everything"},
	{"bench", []string{""}, "measures everything"},
}

// doors: only these rooms may see the library.
var doors = map[string]string{
	"github.com/asynkron/protoactor-go": "runtime/act",
	"github.com/cockroachdb/pebble":     "storage/pebblestore",
	"github.com/blevesearch/bleve":      "storage/search",
}

func inside(room, folder string) bool {
	return folder == "" || room == folder || strings.HasPrefix(room, folder+"/")
}

// everyFile calls fn for each Go file of ours.
func everyFile(t *testing.T, fn func(path, room string)) {
	t.Helper()
	err := filepath.WalkDir(".", func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && p != "." && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata" || d.Name() == "node_modules" || d.Name() == "bin") {
			return filepath.SkipDir
		}
		if strings.HasSuffix(p, ".go") && filepath.Dir(p) != "." {
			fn(p, filepath.ToSlash(filepath.Dir(p)))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestImports(t *testing.T) {
	seen := 0
	everyFile(t, func(path, room string) {
		test := strings.HasSuffix(path, "_test.go")
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
		if err != nil {
			t.Error(err)
			return
		}
		seen++
		for _, im := range f.Imports {
			name := strings.Trim(im.Path.Value, `"`)
			for lib, door := range doors {
				if strings.HasPrefix(name, lib) && !inside(room, door) && !test {
					t.Errorf("%s imports %s: only %s may see it", path, name, door)
				}
			}
			if ours, ok := strings.CutPrefix(name, "sentient/"); ok && !test {
				checkRoom(t, path, room, ours)
			}
		}
	})
	if seen < 50 {
		t.Fatalf("only %d files were looked at", seen)
	}
}

func checkRoom(t *testing.T, path, room, imported string) {
	t.Helper()
	best := -1
	for i, r := range rules {
		if inside(room, r.room) && (best < 0 || len(r.room) > len(rules[best].room)) {
			best = i
		}
	}
	if best < 0 {
		t.Errorf("%s: the room %s is not in the plan of the house", path, room)
		return
	}
	for _, ok := range append(rules[best].imports, rules[best].room) {
		if inside(imported, ok) {
			return
		}
	}
	t.Errorf("%s imports sentient/%s: %s", path, imported, rules[best].why)
}

func TestPackageDocs(t *testing.T) {
	documented := map[string]bool{}
	everyFile(t, func(path, room string) {
		if strings.HasSuffix(path, "_test.go") {
			return
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments|parser.PackageClauseOnly)
		if err != nil {
			t.Error(err)
			return
		}
		has := f.Doc != nil && (strings.HasPrefix(f.Doc.Text(), "Package ") || strings.HasPrefix(f.Doc.Text(), "Command "))
		documented[room] = documented[room] || has || strings.HasSuffix(path, ".pb.go")
	})
	for room, ok := range documented {
		if !ok {
			t.Errorf("no file of %s says what the package owns (\"Package x owns ...\")", room)
		}
	}
}
