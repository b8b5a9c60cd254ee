package file

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"
	"unicode/utf8"

	"pgregory.net/rapid"
	"sentient/actors/msg"
	"sentient/storage/blob"
)

// paper is a Documents that knows one text.
type paper struct {
	text string
	kind string
	err  error
}

func (p *paper) Document(_ context.Context, kind string, _ *os.File, offset, limit int) (string, int, bool, error) {
	p.kind = kind
	r := []rune(p.text)
	start := min(offset, len(r))
	end := min(start+limit, len(r))
	if end < len(r) {
		return string(r[start:end]), -1, true, p.err
	}
	return string(r[start:end]), len(r), false, p.err
}

func open(t testing.TB, docs Documents) (*Files, *blob.Folder) {
	t.Helper()
	folder, err := blob.Open(blob.Options{Dir: filepath.Join(t.TempDir(), "files")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { folder.Close() })
	f, err := New(Options{Folder: folder, Documents: docs})
	if err != nil {
		t.Fatal(err)
	}
	return f, folder
}

func save(t testing.TB, folder *blob.Folder, name, content string) {
	t.Helper()
	if _, err := folder.Save(name, strings.NewReader(content), 0); err != nil {
		t.Fatal(err)
	}
}

func read(t testing.TB, f *Files, call msg.Call) (ReadResult, error) {
	t.Helper()
	res, err := f.read(t.Context(), &call)
	r, _ := res.(ReadResult)
	return r, err
}

func args(name string, offset, limit int) map[string]any {
	return map[string]any{"name": name, "offset": float64(offset), "limit": float64(limit)}
}

// one part, with next_offset while there is more, sized so that the whole result fits the run's limit; past the end
// content "", more false and a note.
func TestReadParts(t *testing.T) {
	f, folder := open(t, nil)
	text := strings.Repeat("a\"é\n\t<\u2028文", 1000)
	save(t, folder, "a.md", text)
	for _, limit := range []int{0, 7, 300, 100_000} {
		got, offset := "", 0
		for range 10_000 {
			r, err := read(t, f, msg.Call{Args: args("a.md", offset, limit), ResultLimit: 1500})
			if err != nil {
				t.Fatal(err)
			}
			if n := jsonLength(r); n > 1500 || limit == 0 && r.More && n < 1450 {
				t.Fatalf("a part of %d characters", n)
			}
			if r.Offset != offset || *r.Total != utf8.RuneCountInString(text) || limit > 0 && utf8.RuneCountInString(r.Content) > limit {
				t.Fatalf("%+v", r)
			}
			if got += r.Content; !r.More {
				if r.NextOffset != nil {
					t.Error("next_offset at the end")
				}
				break
			}
			offset = *r.NextOffset
		}
		if got != text {
			t.Errorf("limit %d: the parts are not the whole", limit)
		}
	}
	r, err := read(t, f, msg.Call{Args: args("a.md", 9000, 0)})
	if err != nil || r.Content != "" || r.More || r.NextOffset != nil || r.Note != "There is nothing here: the file ends at character 8000." {
		t.Errorf("%+v %v", r, err)
	}
	wire, _ := json.Marshal(r)
	if string(wire) != `{"name":"a.md","offset":9000,"content":"","total":8000,"more":false,"note":"There is nothing here: the file ends at character 8000."}` {
		t.Errorf("%s", wire)
	}
	save(t, folder, "empty", "")
	if r, err = read(t, f, msg.Call{Args: args("empty", 0, 0)}); err != nil || r.Note == "" || r.More || *r.Total != 0 {
		t.Errorf("%+v %v", r, err)
	}
}

func TestPartsAlwaysFitAndGoOn(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := strings.ToValidUTF8(rapid.StringN(1, 400, -1).Draw(t, "text"), "?")
		room := rapid.IntRange(0, 600).Draw(t, "room")
		s := slice{text: text, total: -1, more: rapid.Bool().Draw(t, "more")}
		r := makePart("n", 5, s, room)
		n := utf8.RuneCountInString(r.Content)
		if n == 0 || !strings.HasPrefix(text, r.Content) || r.More != (s.more || r.Content != text) {
			t.Fatalf("%+v", r)
		}
		if jsonLength(r) > room && n > 1 {
			t.Fatalf("%d characters in room for %d", jsonLength(r), room)
		}
		if r.More && *r.NextOffset != 5+n {
			t.Fatalf("%+v", r)
		}
	})
}

// total is left out when a text file over 4 MB was only read as far as this part.
func TestLargeFilesAreNotReadWhole(t *testing.T) {
	f, folder := open(t, nil)
	save(t, folder, "big.log", strings.Repeat("0123456789", wholeBytes/10+1))
	r, err := read(t, f, msg.Call{Args: args("big.log", 1_000_005, 10)})
	if err != nil || r.Content != "5678901234" || !r.More || r.Total != nil || *r.NextOffset != 1_000_015 {
		t.Fatalf("%+v %v", r, err)
	}
	if r, err = read(t, f, msg.Call{Args: args("big.log", wholeBytes/10*10+5, 100)}); err != nil || r.Content != "56789" || r.More || r.Total == nil {
		t.Fatalf("%+v %v", r, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := f.read(ctx, &msg.Call{Args: args("big.log", 0, 0)}); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
}

func TestEncodings(t *testing.T) {
	f, folder := open(t, nil)
	wide := func(order func(uint16) []byte, s string) string {
		var b []byte
		for _, u := range utf16.Encode([]rune(s)) {
			b = append(b, order(u)...)
		}
		return string(b)
	}
	le := func(u uint16) []byte { return []byte{byte(u), byte(u >> 8)} }
	be := func(u uint16) []byte { return []byte{byte(u >> 8), byte(u)} }
	for name, c := range map[string][2]string{
		"utf8": {"héllo 文", "héllo 文"}, "bom": {"\xef\xbb\xbfhé", "hé"}, "latin1": {"caf\xe9 \x93x\x94", "café “x”"},
		"utf16le": {"\xff\xfe" + wide(le, "hé𝄞"), "hé𝄞"}, "utf16be": {"\xfe\xff" + wide(be, "hé𝄞"), "hé𝄞"},
		"onebad": {"é文é文 \xff", "é文é文 \uFFFD"}, "page.json": {`{"a": 1}`, `{"a": 1}`}, "t.csv": {"a;b\r\n1;2", "a;b\r\n1;2"},
	} {
		save(t, folder, name, c[0])
		if r, err := read(t, f, msg.Call{Args: args(name, 0, 0)}); err != nil || r.Content != c[1] || *r.Total != utf8.RuneCountInString(c[1]) {
			t.Errorf("%s: %+v %v", name, r, err)
		}
	}
	for name, content := range map[string]string{"a.bin": "ab\x00c", "b": "\x01\x02\x03\x04\x05", "p.png": "\x89PNG\r\n\x1a\n", "z.zip": "PK\x03\x04", "old.doc": "\xd0\xcf\x11\xe0", "d.pdf": "%PDF-1.4"} {
		save(t, folder, name, content)
		if r, err := read(t, f, msg.Call{Args: args(name, 0, 0)}); err == nil {
			t.Errorf("%s: %+v", name, r)
		}
	}
}

// total is left out when a document was only read as far as this part.
func TestDocuments(t *testing.T) {
	docs := &paper{text: strings.Repeat("x", 5000)}
	f, folder := open(t, docs)
	save(t, folder, "uploads/report.pdf", "%PDF-1.4")
	save(t, folder, "letter.docx", "PK\x03\x04")
	r, err := read(t, f, msg.Call{Args: args("uploads/report.pdf", 10, 0), ResultLimit: 1500})
	if err != nil || docs.kind != "pdf" || r.Total != nil || !r.More || jsonLength(r) > 1500 || *r.NextOffset != 10+len(r.Content) {
		t.Fatalf("%+v %v", r, err)
	}
	r, err = read(t, f, msg.Call{Args: args("letter.docx", 4990, 0)})
	if err != nil || docs.kind != "docx" || *r.Total != 5000 || r.More || len(r.Content) != 10 {
		t.Fatalf("%+v %v", r, err)
	}
	docs.err = errors.New("this PDF is protected")
	if _, err = read(t, f, msg.Call{Args: args("uploads/report.pdf", 0, 0)}); !errors.Is(err, docs.err) {
		t.Fatal(err)
	}
}

// marking of file_read covers outputs/ and downloads/ only, also through a link and for a stored result.
func TestOutside(t *testing.T) {
	f, folder := open(t, nil)
	for _, n := range []string{"outputs/tool-1.txt", "downloads/a.txt", "uploads/b.txt", "outputs.txt"} {
		save(t, folder, n, "text")
	}
	save(t, folder, "outputs/empty.txt", "")
	if err := os.Symlink("outputs/tool-1.txt", filepath.Join(folder.Dir(), "innocent")); err != nil {
		t.Fatal(err)
	}
	fn := f.readTool().OutsideFn
	for name, want := range map[string]string{"outputs/tool-1.txt": savedSource, "downloads/a.txt": downloadSource, "uploads/b.txt": "", "outputs.txt": "", "outputs/empty.txt": "", "innocent": savedSource} {
		r, err := read(t, f, msg.Call{Args: args(name, 0, 0)})
		if err != nil {
			t.Fatal(err)
		}
		if got := fn(args(name, 0, 0), r); got != want {
			t.Errorf("%s: %q", name, got)
		}
		var stored map[string]any
		wire, _ := json.Marshal(r)
		if err := json.Unmarshal(wire, &stored); err != nil {
			t.Fatal(err)
		}
		if got := fn(args(name, 0, 0), stored); got != want && name != "innocent" {
			t.Errorf("%s stored: %q", name, got)
		}
	}
	if fn(args("outputs/x", 0, 0), map[string]any{"error": "not found"}) != "" {
		t.Error("an error is marked")
	}
}

func TestSources(t *testing.T) {
	f, folder := open(t, nil)
	save(t, folder, "notes/trip.md", strings.Repeat("é", 400))
	r, _ := read(t, f, msg.Call{Args: args("notes/trip.md", 0, 0)})
	got := f.readTool().SourcesFn(nil, r)
	if len(got) != 1 || got[0].Kind != "file" || got[0].File != "notes/trip.md" || got[0].Title != "trip.md" || got[0].App != "files" || got[0].Tool != "file_read" || utf8.RuneCountInString(got[0].Snippet) != 280 {
		t.Errorf("%+v", got)
	}
	if got = f.readTool().SourcesFn(nil, map[string]any{"error": "x"}); got != nil {
		t.Errorf("%+v", got)
	}
}

func TestListAndWrite(t *testing.T) {
	f, folder := open(t, nil)
	list, write := f.listTool(), f.writeTool()
	ctx := t.Context()
	if got, err := list.Run(ctx, &msg.Call{Args: map[string]any{"subdir": "nowhere"}}); err != nil || len(got.([]Listed)) != 0 {
		t.Fatal(got, err)
	}
	a := map[string]any{"name": "notes/a.txt", "content": "one\r\ntwo é"}
	got, err := write.Run(ctx, &msg.Call{Args: a})
	if err != nil || got != (Written{Saved: "notes/a.txt", Path: filepath.Join(folder.Dir(), "notes/a.txt"), Bytes: 11}) {
		t.Fatal(got, err)
	}
	if o, err := write.Verify(ctx, map[string]any{"name": "notes/a.txt", "content": "one\ntwo é"}, got, nil); err != nil || !o.OK {
		t.Error(o, err)
	}
	if o, err := write.Verify(ctx, map[string]any{"name": "notes/a.txt", "content": "other"}, got, nil); err != nil || o.OK || o.Detail != "notes/a.txt does not hold what was written" {
		t.Error(o, err)
	}
	if o, err := write.Verify(ctx, map[string]any{"name": "gone.txt"}, got, nil); err != nil || o.OK || o.Detail != "gone.txt is not there" {
		t.Error(o, err)
	}
	for _, name := range []string{"../x", "/etc/passwd", "", "a/../../b", "outputs/incognito-s1/x.txt"} {
		if got, err := write.Run(ctx, &msg.Call{Args: map[string]any{"name": name, "content": "x"}}); err == nil {
			t.Errorf("%s was written: %v", name, got)
		}
	}
	save(t, folder, "b", "x")
	rows, err := list.Run(ctx, &msg.Call{Args: map[string]any{}})
	if wire, _ := json.Marshal(rows); err != nil || string(wire) != `[{"name":"b","bytes":1},{"name":"notes/a.txt","bytes":11}]` {
		t.Errorf("%s %v", wire, err)
	}
	if _, err := read(t, f, msg.Call{Args: args("gone", 0, 0)}); err == nil || !strings.HasPrefix(err.Error(), "not found") {
		t.Error(err)
	}
}

// What the person attached is never written over, by whatever name it is called.
func TestAttachedFilesAreNotWrittenOver(t *testing.T) {
	f, folder := open(t, nil)
	up, err := folder.Upload(strings.NewReader("mine"), blob.Upload{Source: blob.SourceUpload, Name: "plan.txt", Limit: 100})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("uploads", filepath.Join(folder.Dir(), "link")); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{up.Name, "uploads/plan.txt", "link/plan.txt"} {
		if got, err := f.writeTool().Run(t.Context(), &msg.Call{Args: map[string]any{"name": name, "content": "other"}}); err == nil {
			t.Errorf("%s: %v", name, got)
		}
	}
	if r, err := read(t, f, msg.Call{Args: args(up.Name, 0, 0)}); err != nil || r.Content != "mine" {
		t.Error(r, err)
	}
}

// An incognito chat's saved results are its own.
func TestIncognitoResultsAreHidden(t *testing.T) {
	f, folder := open(t, nil)
	const name = "outputs/incognito-s1/tool-1.txt"
	save(t, folder, name, "secret")
	if r, err := read(t, f, msg.Call{Session: "s1", Args: args(name, 0, 0)}); err != nil || r.Content != "secret" {
		t.Error(r, err)
	}
	if r, err := read(t, f, msg.Call{Session: "s2", Args: args(name, 0, 0)}); err == nil {
		t.Error(r)
	}
	for session, want := range map[string]int{"s1": 1, "s2": 0} {
		rows, err := f.listTool().Run(t.Context(), &msg.Call{Session: session, Args: map[string]any{"subdir": "outputs/"}})
		if err != nil || len(rows.([]Listed)) != want {
			t.Error(session, rows, err)
		}
	}
}

func TestAttach(t *testing.T) {
	docs := &paper{text: "from the pdf"}
	f, folder := open(t, docs)
	save(t, folder, "uploads/long.txt", strings.Repeat("é", 60_001))
	save(t, folder, "screens/a.png", "\x89PNG\r\n\x1a\nrest")
	save(t, folder, "fake.png", "hello")
	save(t, folder, "r.pdf", "%PDF-1")
	save(t, folder, "huge.jpg", "\xff\xd8\xff"+strings.Repeat("x", maxImage))
	save(t, folder, "b.bin", "\x00")
	at := func(n string) Attachment { return f.Attach(t.Context(), n, "s") }
	if a := at("uploads/long.txt"); utf8.RuneCountInString(a.Text) != 60_000 || !strings.Contains(a.Note, `file_read(name="uploads/long.txt", offset=60000)`) || a.IsImage {
		t.Errorf("%.100v", a.Note)
	}
	if a := at("screens/a.png"); !a.IsImage || a.MIME != "image/png" || string(a.Bytes) != "\x89PNG\r\n\x1a\nrest" || a.Note != "" {
		t.Errorf("%+v", a)
	}
	if a := at("r.pdf"); a.Text != "from the pdf" || a.Note != "" || a.MIME != "application/pdf" {
		t.Errorf("%+v", a)
	}
	for n, want := range map[string]string{"huge.jpg": "too large", "gone.txt": "no longer available", "../x": "no longer available", "b.bin": "could not be read", "fake.png": "could not be read"} {
		if a := at(n); a.Text != "" || a.Bytes != nil || !strings.Contains(a.Note, want) {
			t.Errorf("%s: %+v", n, a)
		}
	}
}

func TestPluginIsWhole(t *testing.T) {
	if _, err := New(Options{}); err == nil {
		t.Error("no folder")
	}
	f, _ := open(t, nil)
	var names []string
	for _, tool := range f.Plugin().Tools {
		names = append(names, tool.Name)
		var schema map[string]any
		if json.Unmarshal(tool.Parameters, &schema) != nil || schema["type"] != "object" || tool.Run == nil {
			t.Error(tool.Name)
		}
	}
	if !slices.Equal(names, []string{"file_list", "file_read", "file_write"}) || f.Plugin().ID != "files" {
		t.Error(names)
	}
}

func FuzzReadText(f *testing.F) {
	for _, s := range []string{"", "abc", "\xff\xfe", "\xff\xfeab\xd8", "\xfe\xffa", "caf\xe9", "é文\xf0\x9f", "\xef\xbb\xbf"} {
		f.Add(s, 1, 3)
	}
	files, folder := open(f, nil)
	f.Fuzz(func(t *testing.T, content string, offset, limit int) {
		save(t, folder, "x", content)
		all, err := read(t, files, msg.Call{Args: args("x", 0, 0), ResultLimit: 1 << 24})
		if err != nil {
			return
		}
		part, err := read(t, files, msg.Call{Args: args("x", offset, limit), ResultLimit: 1 << 24})
		if err != nil || !utf8.ValidString(part.Content) || *part.Total != *all.Total {
			t.Fatalf("%+v %v", part, err)
		}
		r := []rune(all.Content)
		from := min(max(offset, 0), len(r))
		if want := string(r[from:]); !strings.HasPrefix(want, part.Content) || !part.More && part.Content != want {
			t.Fatalf("%q of %q from %d", part.Content, all.Content, from)
		}
	})
}
