package app

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type seen struct {
	cfg *Config
	err error
}

// sightings are what a watcher handed over.
type sightings struct {
	mu  sync.Mutex
	all []seen
}

func (s *sightings) apply(c *Config, _ Report, err error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all = append(s.all, seen{c, err})
	return err
}

func (s *sightings) list() []seen {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.all
}

// watching runs a watcher in fake time; touch says that a file changed.
func watching(t *testing.T, f *ConfigFile, apply func(*Config, Report, error) error) (touch func(string)) {
	changes := make(chan string)
	w := &Watcher{File: f, Apply: apply, Quiet: time.Second, Notify: func(ctx context.Context, dirs []string) (<-chan string, error) {
		out := make(chan string)
		go func() {
			defer close(out)
			for {
				select {
				case <-ctx.Done():
					return
				case name := <-changes:
					select {
					case out <- name:
					case <-ctx.Done():
						return
					}
				}
			}
		}()
		return out, nil
	}}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error)
	go func() { done <- w.Serve(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return func(name string) { changes <- name; synctest.Wait() }
}

func TestWatcherWaitsUntilTheFileIsQuiet(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(dir, "config.yaml")
		f := NewConfigFile(path)
		var s sightings
		touch := watching(t, f, s.apply)

		write(t, path, "gateway:\n  port: 80")
		touch("config.yaml")
		time.Sleep(900 * time.Millisecond)
		write(t, path, "gateway:\n  port: 8000\n")
		touch("config.yaml")
		time.Sleep(900 * time.Millisecond)
		if len(s.list()) != 0 {
			t.Fatal("too early")
		}
		time.Sleep(200 * time.Millisecond)
		synctest.Wait()
		if got := s.list(); len(got) != 1 || got[0].cfg.Gateway.Port != 8000 {
			t.Fatal(got)
		}
		if read(t, f.good) != read(t, path) {
			t.Error("an applied edit is the last good version")
		}

		touch("other.yaml")
		touch("config.yaml") // nothing new in it
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if len(s.list()) != 1 {
			t.Fatal("called without an edit")
		}

		write(t, path, "gateway:\n  port: x\n")
		touch("config.yaml")
		time.Sleep(2 * time.Second)
		synctest.Wait()
		var broken *BrokenError
		if got := s.list(); len(got) != 2 || got[1].cfg != nil || !errors.As(got[1].err, &broken) || broken.Problems[0].Line != 2 {
			t.Fatal(got)
		}
		if strings.Contains(read(t, f.good), "x") {
			t.Error("a broken edit became the last good version")
		}
	})
}

func TestWatcherSeesWhatChangedBeforeItStarted(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		f := NewConfigFile(filepath.Join(dir, "config.yaml"))
		write(t, f.path, "gateway:\n  port: 1\n")
		if _, _, err := f.Start(); err != nil {
			t.Fatal(err)
		}
		write(t, f.path, "gateway:\n  port: 2\n")
		var s sightings
		watching(t, f, s.apply)
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if got := s.list(); len(got) != 1 || got[0].cfg.Gateway.Port != 2 {
			t.Fatal(got)
		}
	})
}

// The operating system's own notices, for an editor that writes in place and one that replaces the file.
func TestWatcherOnARealFolder(t *testing.T) {
	dir := t.TempDir()
	f := NewConfigFile(filepath.Join(dir, "config.yaml"))
	got := make(chan int, 16)
	ready := make(chan struct{})
	w := &Watcher{File: f, Quiet: time.Millisecond,
		Apply: func(c *Config, _ Report, err error) error {
			if err == nil {
				got <- c.Gateway.Port
			}
			return err
		},
		Notify: func(ctx context.Context, dirs []string) (<-chan string, error) {
			defer close(ready)
			return systemNotify(ctx, dirs)
		}}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- w.Serve(ctx) }()
	<-ready
	write(t, f.path, "gateway:\n  port: 8001\n")
	for port := range got {
		if port == 8001 {
			break
		}
	}
	other := filepath.Join(dir, "new")
	write(t, other, "gateway:\n  port: 8002\n")
	if err := os.Rename(other, f.path); err != nil {
		t.Fatal(err)
	}
	for port := range got {
		if port == 8002 {
			break
		}
	}
	cancel()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}

type part struct {
	name   string
	refuse error
	log    *[]string
}

func (p part) Verify(_, _ *Config) error {
	*p.log = append(*p.log, "verify "+p.name)
	return p.refuse
}
func (p part) Commit(*Config) { *p.log = append(*p.log, "commit "+p.name) }

func TestLiveVerifiesThenPersistsThenCommits(t *testing.T) {
	var log []string
	live := NewLive(Default())
	live.Join("models", part{name: "models", log: &log})
	leave := live.Join("voice", part{name: "voice", log: &log})
	next := merge(t, Default(), `{"assistant":{"name":"Nova"}}`)
	persist := func(now, n *Config) error {
		log = append(log, "persist")
		if now.Assistant.Name != "Sentient" || n != next || live.Get() != now {
			t.Error("nothing is in force before it is on disk")
		}
		return nil
	}
	if err := live.Apply(next, persist); err != nil || live.Get() != next {
		t.Fatal(err)
	}
	want := []string{"verify models", "verify voice", "persist", "commit models", "commit voice"}
	if !reflect.DeepEqual(log, want) {
		t.Fatal(log)
	}
	leave()
	log = nil
	if err := live.Apply(Default(), nil); err != nil || !reflect.DeepEqual(log, []string{"verify models", "commit models"}) {
		t.Fatal(log, err)
	}
}

func TestLiveLeavesEverythingWhenRefused(t *testing.T) {
	var log []string
	old := Default()
	live := NewLive(old)
	live.Join("a", part{name: "a", log: &log})
	live.Join("voice", part{name: "voice", log: &log, refuse: errors.New("the model is not installed")})
	err := live.Apply(Default(), func(_, _ *Config) error { t.Error("persisted"); return nil })
	var refusal *Refusal
	if !errors.As(err, &refusal) || refusal.Part != "voice" || live.Get() != old || !reflect.DeepEqual(log, []string{"verify a", "verify voice"}) {
		t.Fatal(log, err)
	}
	live = NewLive(old)
	live.Join("a", part{name: "a", log: &log})
	log = nil
	if err := live.Apply(Default(), func(_, _ *Config) error { return errors.New("disk full") }); err == nil || live.Get() != old || len(log) != 1 {
		t.Fatal(log, err)
	}
}
