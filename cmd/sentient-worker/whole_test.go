package main

import (
	"bytes"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"sentient/actors/msg"
	"sentient/actors/tool"
	"sentient/storage/blob"
	"sentient/transport/file"
	"sentient/transport/web"
	"sentient/transport/worker"
)

var (
	_ file.Documents = (*worker.Client)(nil)
	_ web.Reader     = (*worker.Client)(nil)
)

// The whole way: a model's call of file_read, checked and run by the registry, a PDF parsed by the real child, the result
// within the run's limit, and read on from where the part ended.
func TestFileReadThroughTheRealWorker(t *testing.T) {
	binary := filepath.Join(t.TempDir(), worker.Binary)
	if out, err := exec.Command("go", "build", "-o", binary, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	client, err := worker.New(worker.Options{Path: binary})
	if err != nil {
		t.Fatal(err)
	}
	folder, err := blob.Open(blob.Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer folder.Close()
	line := "BT /F1 12 Tf 72 720 Td (" + strings.Repeat("word ", 200) + ") Tj ET"
	info, err := folder.Upload(bytes.NewReader(makePDF(line, line, line)), blob.Upload{Name: "report.pdf"})
	if err != nil {
		t.Fatal(err)
	}
	files, err := file.New(file.Options{Folder: folder, Documents: client})
	if err != nil {
		t.Fatal(err)
	}
	registry, err := tool.New(nil, files.Plugin())
	if err != nil {
		t.Fatal(err)
	}
	entry, _ := registry.Lookup("file_read")
	got, offset, parts := "", 0.0, 0
	for more := true; more; parts++ {
		args, bad := entry.Decode(tool.CompactJSON(map[string]any{"name": info.Name, "offset": offset}))
		if bad != nil {
			t.Fatal(bad)
		}
		res, err := entry.Tool.Run(t.Context(), &msg.Call{Args: args, ResultLimit: 1500})
		if err != nil {
			t.Fatal(err)
		}
		if fitted := tool.Fit(res, 1500, "x", nil); fitted.Cut {
			t.Fatal("a part was cut again")
		}
		part := res.(file.ReadResult)
		if got, more = got+part.Content, part.More; more {
			offset = float64(*part.NextOffset)
		}
	}
	if words := strings.Fields(got); len(words) != 600 || parts < 3 {
		t.Errorf("%d words in %d parts", len(words), parts)
	}
}
