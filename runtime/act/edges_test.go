package act_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"strconv"
	"strings"
	"testing"
)

// The parts of proto.actor that are broken or too sharp, and why. None of them may appear in this package.
var banned = map[string]string{
	"ReenterAfter":        "its continuation overtakes the queue and runs in a dead incarnation",
	"Stash":               "replays last-in-first-out and loses the sender",
	"SetReceiveTimeout":   "is a data race",
	"Watch":               "a parent that watches its child hears of its end twice; watchers are never pruned",
	"RequestFuture":       "a late reply is a data race",
	"NewFuture":           "a late reply is a data race",
	"StopFuture":          "a late reply is a data race",
	"PoisonFuture":        "a late reply is a data race",
	"Bounded":             "a full mailbox makes its sender spin",
	"BoundedDropping":     "burns a core after it dropped",
	"UnboundedPriority":   "loses the priority of requests",
	"NewPID":              "a PID built from a name may not be ready",
	"NewLocalPID":         "a PID built from a name may not be ready",
	"WithMetricProviders": "leaves a callback behind for every actor",
	"Shutdown":            "stops no actor",
}

func TestBannedPartsOfTheLibrary(t *testing.T) {
	files, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for _, f := range files {
		if !strings.HasSuffix(f.Name(), ".go") || strings.HasSuffix(f.Name(), "_test.go") {
			continue
		}
		fset := token.NewFileSet()
		file, err := parser.ParseFile(fset, f.Name(), nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, imp := range file.Imports {
			path, _ := strconv.Unquote(imp.Path.Value)
			if strings.HasPrefix(path, "github.com/asynkron/") {
				seen++
				if path != "github.com/asynkron/protoactor-go/actor" {
					t.Errorf("%s imports %s: only the actor package is used", f.Name(), path)
				}
			}
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if sel, ok := n.(*ast.SelectorExpr); ok && banned[sel.Sel.Name] != "" {
				t.Errorf("%s uses %s: %s", fset.Position(sel.Pos()), sel.Sel.Name, banned[sel.Sel.Name])
			}
			return true
		})
	}
	if seen == 0 {
		t.Error("no file uses the library: this test looks in the wrong place")
	}
}
