package faults

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// The faults here are done to the store's files while no engine holds them.

// tornRecord kills and leaves a record at the log's end of which only the beginning was written. It is one that the log holds
// already, so only its missing part keeps it from being taken for a second time.
func tornRecord(ctx context.Context, b *bed, p plan) (int, error) {
	b.aim(ctx, p)
	b.kill()
	logs, err := filepath.Glob(filepath.Join(b.home, "store", "*.log"))
	if err != nil || len(logs) == 0 {
		return 1, errors.Join(err, errors.New("the store has no log"))
	}
	slices.Sort(logs)
	newest := logs[len(logs)-1]
	have, err := os.ReadFile(newest)
	if err != nil || len(have) < 32 {
		return 1, err // nothing was written since the start
	}
	f, err := os.OpenFile(newest, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return 1, err
	}
	_, err = f.Write(have[:1+p.dice%27]) // shorter than any record with a header and the smallest batch
	return 2, errors.Join(err, f.Close())
}

// rotten kills, flips a bit in a copy of the home and starts an engine there, which may refuse with a sentence; what it shows
// must be what was shown before. The home itself stays well: a damaged disk may have lost what was acknowledged.
func rotten(ctx context.Context, b *bed, p plan) (int, error) {
	b.aim(ctx, p)
	b.kill()
	dir, err := os.MkdirTemp(b.dir, "rot")
	if err != nil {
		return 1, err
	}
	defer os.RemoveAll(dir)
	home := filepath.Join(dir, "home")
	if err := os.CopyFS(home, os.DirFS(b.home)); err != nil {
		return 1, err
	}
	where, err := flip(filepath.Join(home, "store"), rand.New(rand.NewPCG(p.dice, 4)))
	if err != nil {
		return 1, err
	}
	e, err := launch(ctx, b.o.Engine, home, dir)
	if err != nil {
		if text := err.Error(); ctx.Err() == nil && (strings.Contains(text, "panic") || strings.Contains(text, "not ready in time")) {
			b.book.breach("a store with a flipped bit in " + where + " is not refused with a sentence: " + text)
		}
		return 2, ctx.Err()
	}
	defer e.Kill()
	for _, chat := range b.chats {
		var rows []row
		if status, _ := e.call(ctx, "GET", "/api/sessions/"+chat+"/messages?limit=100000", nil, &rows); status != 200 {
			continue // it says so
		}
		for _, wrong := range altered(b.before[chat], rows) {
			b.book.breach(fmt.Sprintf("with a flipped bit in %s, %s of chat %s is shown and is not what it was", where, wrong, chat))
		}
	}
	return 2, ctx.Err()
}

// flip changes one bit of a file of the store, and says where.
func flip(store string, r *rand.Rand) (where string, err error) {
	var list []string
	for _, kind := range []string{"*.sst", "*.log", "MANIFEST-*"} {
		more, _ := filepath.Glob(filepath.Join(store, kind)) // the patterns are good
		list = append(list, more...)
	}
	list = slices.DeleteFunc(list, func(name string) bool {
		st, err := os.Stat(name)
		return err != nil || st.Size() == 0
	})
	if len(list) == 0 {
		return "", errors.New("the store has no files")
	}
	name := list[r.IntN(len(list))]
	b, err := os.ReadFile(name)
	if err != nil {
		return "", err
	}
	at := r.IntN(len(b))
	b[at] ^= 1 << r.IntN(8)
	return fmt.Sprintf("%s at %d", filepath.Base(name), at), os.WriteFile(name, b, 0o600)
}

// altered names the rows that are in both and differ.
func altered(before, now []row) (list []string) {
	was := map[string]row{}
	for _, r := range before {
		was[r.ID] = r
	}
	for _, r := range now {
		if w, ok := was[r.ID]; ok && (w.Content != r.Content || w.Role != r.Role) {
			list = append(list, "row "+r.ID)
		}
	}
	return list
}
