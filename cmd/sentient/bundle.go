package main

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"sentient/actors/session"
	"sentient/runtime/app"
	"sentient/storage/journal"
	"sentient/transport/hardware"
)

const bundleReadMe = `What the doctor found on this computer, for those who mend the program. It has no keys, none of your files, and nothing that you, a model
or a web page said. Look into it before you give it away:

about.json     the program, the computer, and how large the parts of the data folder are
doctor.txt     what is installed, reachable and writable
settings.json  switches, numbers and choices; your own words are left out
chats.json     of each chat (the newest first) what kinds of things happened in it, and whether its journal and the lists agree; only
               when the engine did not run
engine.json    what the running engine says of its health
logs/          the newest part of the engine's log, without what it quotes
`

// bundle writes what a person who mends the program needs into a zip file, without secrets and without anybody's words.
func (m *Main) bundle(ctx context.Context, path string) error {
	home, err := app.FindHome(m.Getenv, m.UserHome)
	if err != nil {
		return err
	}
	if path == "" {
		path = "sentient-debug-" + time.Now().Format("20060102-150405") + ".zip"
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("the bundle cannot be written: %w. Name another file with --out", err)
	}
	b := &bundler{Main: m, home: home, zip: zip.NewWriter(f)}
	err = errors.Join(b.fill(ctx), b.zip.Close(), f.Close())
	if err != nil {
		return errors.Join(fmt.Errorf("the bundle cannot be written: %w", err), os.Remove(path))
	}
	_, err = fmt.Fprintf(m.Stdout, "Wrote %s. It has no keys and nothing that was said. Its README.txt says what is in it: look before you give it away.\n", path)
	return err
}

type bundler struct {
	*Main
	home app.Home
	zip  *zip.Writer
}

func (b *bundler) fill(ctx context.Context) error {
	step := func(what string) { fmt.Fprintln(b.Stderr, what) }
	step("Looking at the computer and the store ...")
	cfg, _, err := app.Load(b.home.ConfigFile())
	if err != nil {
		cfg = app.Default() // the doctor's part says that they cannot be used
	}
	err = errors.Join(b.text("README.txt", bundleReadMe), b.json("about.json", b.about(ctx)), b.text("doctor.txt", b.doctorText(ctx)),
		b.json("settings.json", app.Outline(cfg)))
	step("Reading the chats' journals ...")
	return errors.Join(err, b.engineOrChats(ctx), b.logs())
}

// text writes a part. Paths in the person's own folder begin with ~, since they hold a name.
func (b *bundler) text(name, s string) error {
	w, err := b.zip.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Deflate, Modified: time.Now()})
	if err != nil {
		return err
	}
	s = strings.ReplaceAll(s, b.home.Dir, "$SENTIENT_HOME")
	if len(b.UserHome) > 1 {
		s = strings.ReplaceAll(s, b.UserHome, "~")
	}
	_, err = io.WriteString(w, s)
	return err
}

func (b *bundler) json(name string, v any) error {
	data, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	return b.text(name, string(data)+"\n")
}

func (b *bundler) doctorText(ctx context.Context) string {
	var s strings.Builder
	for _, f := range b.findings(ctx, b.home) {
		fmt.Fprintf(&s, "%-5s %s\n", f.state, f.withoutWords())
	}
	return s.String()
}

func (b *bundler) about(ctx context.Context) map[string]any {
	build := map[string]string{}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			build[s.Key] = s.Value
		}
	}
	folders := map[string]size{}
	for _, name := range []string{"store", "search", "files", "workspace", "snapshots", "models", "logs"} {
		folders[name] = sizeOf(filepath.Join(b.home.Dir, name))
	}
	return map[string]any{"version": version, "go": runtime.Version(), "build": build, "system": runtime.GOOS + "/" + runtime.GOARCH,
		"processors": runtime.NumCPU(), "computer": hardware.New(hardware.Options{}).Get(ctx, false), "at": time.Now().UTC(), "folders": folders}
}

type size struct {
	Files int   `json:"files"`
	Bytes int64 `json:"bytes"`
}

func sizeOf(dir string) (s size) {
	_ = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return nil // what cannot be looked at is not counted
		}
		if info, err := d.Info(); err == nil {
			s.Files, s.Bytes = s.Files+1, s.Bytes+info.Size()
		}
		return nil
	})
	return s
}

// engineOrChats asks the engine when it runs, and reads its store when it does not.
func (b *bundler) engineOrChats(ctx context.Context) error {
	var chats []chatShape
	err := b.withStore(ctx, func(j *journal.Committer) (err error) {
		chats, err = chatShapes(ctx, j)
		return err
	})
	if err == nil {
		return b.json("chats.json", chats)
	}
	var health struct {
		Version string                   `json:"version"`
		Wrong   map[string]app.Condition `json:"detail"`
	}
	if err := b.askEngine(ctx, http.MethodGet, "/api/health", &health); err != nil {
		return nil // doctor.txt says what is wrong with the store or the engine
	}
	if c, ok := health.Wrong["settings"]; ok {
		health.Wrong["settings"] = app.Condition{OK: c.OK} // its sentence quotes the file
	}
	return b.json("engine.json", health)
}

const (
	bundleChats  = 200 // newest
	bundleEvents = 20  // last of each
)

// chatShape is a chat without a word of it.
type chatShape struct {
	ID      string         `json:"id"`
	Events  int            `json:"events"`
	Kinds   map[string]int `json:"kinds"`
	Last    []string       `json:"last"`
	Differs []string       `json:"differs,omitempty"`
	Error   string         `json:"error,omitempty"`
}

func chatShapes(ctx context.Context, j *journal.Committer) ([]chatShape, error) {
	tables := session.NewTables()
	r, err := j.Read()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	rows, err := tables.List(r, bundleChats)
	if err != nil {
		return nil, err
	}
	list := []chatShape{}
	for _, row := range rows {
		c := chatShape{ID: row.ID, Kinds: map[string]int{}}
		told, err := tables.Replay(ctx, j, row.ID)
		if err != nil {
			c.Error = err.Error()
		}
		c.Events, c.Differs = len(told.Steps), told.Differs
		for i, s := range told.Steps {
			c.Kinds[s.What]++
			if i >= len(told.Steps)-bundleEvents {
				c.Last = append(c.Last, fmt.Sprintf("%s  %d %s", s.At.Format(time.RFC3339), s.Version, s.What))
			}
		}
		list = append(list, c)
	}
	return list, nil
}

const bundleLog = 8 << 20 // bytes of the log, the newest

// toldOfTheLog are the attributes of a log entry whose text is the program's own: what else is text may quote a person, a file
// of settings or a provider's answer, which can hold what was said.
var toldOfTheLog = []string{slog.TimeKey, slog.LevelKey, slog.MessageKey, "fault", "kind", "owner", "session", "source", "stack"}

// withoutWords leaves of a log's entries, one JSON object a line, numbers, switches and the program's own words.
func withoutWords(log []byte) string {
	var out strings.Builder
	for line := range bytes.Lines(log) {
		entry := map[string]any{}
		if json.Unmarshal(line, &entry) != nil {
			out.WriteString(app.Yours + "\n")
			continue
		}
		for k, v := range entry {
			switch v.(type) {
			case float64, bool, nil:
			case string:
				if !slices.Contains(toldOfTheLog, k) {
					entry[k] = app.Yours
				}
			default:
				entry[k] = app.Yours
			}
		}
		b, _ := json.Marshal(entry) // it came out of JSON
		out.Write(append(b, '\n'))
	}
	return out.String()
}

// logs adds the newest part of the engine's log.
func (b *bundler) logs() error {
	left := int64(bundleLog)
	for _, suffix := range []string{"", ".1"} {
		f, err := os.Open(b.home.Log() + suffix)
		if err != nil {
			continue // there is none
		}
		data, err := tail(f, left)
		_ = f.Close()
		if err != nil {
			return err
		}
		left -= int64(len(data))
		if err := b.text("logs/engine.log"+suffix, withoutWords(data)); err != nil {
			return err
		}
	}
	return nil
}

// tail reads the last whole lines of a file, n bytes at most.
func tail(f *os.File, n int64) ([]byte, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	from := max(info.Size()-n, 0)
	data, err := io.ReadAll(io.NewSectionReader(f, from, n))
	if err != nil || from == 0 {
		return data, err
	}
	_, rest, _ := strings.Cut(string(data), "\n")
	return []byte(rest), nil
}
