package search

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// form is the form of the index: analysis, fields, what is stored. Another form is another name, and a rebuild.
const form = 1

// Folders are named v<form>-<generation>. The highest complete generation of today's form is the index.

func folderName(generation int) string { return fmt.Sprintf("v%d-%06d", form, generation) }

// parseFolder reads a folder's name; ok is false for what is not ours.
func parseFolder(name string) (itsForm, generation int, ok bool) {
	rest, ok := strings.CutPrefix(name, "v")
	if !ok {
		return 0, 0, false
	}
	a, b, ok := strings.Cut(rest, "-")
	if !ok {
		return 0, 0, false
	}
	itsForm, err := strconv.Atoi(a)
	generation, err2 := strconv.Atoi(b)
	return itsForm, generation, err == nil && err2 == nil && itsForm >= 0 && generation >= 0
}

// newest is the highest generation of today's form on disk, -1 when there is none, and the highest of any form.
func (x *Index) newest() (ours, any int) {
	ours, any = -1, -1
	entries, err := os.ReadDir(x.o.Dir)
	if err != nil {
		return ours, any
	}
	for _, e := range entries {
		f, n, ok := parseFolder(e.Name())
		if !ok {
			continue
		}
		any = max(any, n)
		if f == form {
			ours = max(ours, n)
		}
	}
	return ours, any
}

// onDisk says whether there is an index, of any form, whose files could hold a deleted text.
func (x *Index) onDisk() bool {
	_, any := x.newest()
	return any >= 0
}

// removeOthers deletes all generations but keep.
func (x *Index) removeOthers(keep int) {
	entries, err := os.ReadDir(x.o.Dir)
	if err != nil {
		return
	}
	for _, e := range entries {
		if f, n, ok := parseFolder(e.Name()); ok && (f != form || n != keep) {
			if err := os.RemoveAll(filepath.Join(x.o.Dir, e.Name())); err != nil {
				x.o.Logger.Warn("an old search index could not be removed", "error", err)
			}
		}
	}
}

// ready is the open index, held until release. It opens the one on disk, or waits for one to be made.
func (x *Index) ready(ctx context.Context) (*generation, error) {
	for {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		x.mu.Lock()
		if x.closed {
			x.mu.Unlock()
			return nil, ErrClosed
		}
		wait := x.building
		if wait == nil && x.current == nil {
			x.openOrBuild()
			wait = x.building
		}
		if wait == nil {
			g := x.current
			g.users.Add(1)
			x.work.Add(1)
			x.mu.Unlock()
			return g, nil
		}
		x.mu.Unlock()
		select {
		case <-wait.done:
			if wait.err != nil {
				return nil, wait.err
			}
		case <-x.ctx.Done():
			return nil, ErrClosed
		case <-ctx.Done():
			return nil, ErrPreparing
		}
	}
}

func (x *Index) release(g *generation) {
	g.users.Done()
	x.work.Done()
}

// openOrBuild opens the newest generation, or starts to make one. x.mu is held.
func (x *Index) openOrBuild() {
	ours, _ := x.newest()
	if ours >= 0 {
		g, err := openGeneration(filepath.Join(x.o.Dir, folderName(ours)), ours)
		if err == nil {
			x.current = g
			x.removeOthers(ours)
			return
		}
		x.o.Logger.Warn("the search index could not be opened and is made again", "reason", err)
	}
	x.startRebuildLocked()
}

func (x *Index) startRebuild() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.startRebuildLocked()
}

func (x *Index) startRebuildLocked() {
	if x.building != nil || x.closed {
		return
	}
	x.building = &build{done: make(chan struct{})}
	x.work.Add(1)
	go x.rebuild()
}

// rebuild makes the next generation and puts it in the place of the current one. When it fails, the next use tries again.
func (x *Index) rebuild() {
	defer x.work.Done()
	_, highest := x.newest()
	var g *generation // stays nil when it fails
	err := guard(func() (err error) {
		g, err = x.build(highest + 1)
		return err
	})
	if err != nil && !errors.Is(err, context.Canceled) {
		x.o.Logger.Error("the search index could not be made", "error", err)
	}
	x.mu.Lock()
	old := x.current
	x.current = g
	if x.closed && g != nil {
		x.current = nil
		defer func() { _ = g.close() }()
	}
	b := x.building
	b.err = err
	x.building = nil
	x.mu.Unlock()
	if old != nil {
		old.users.Wait()
		_ = old.close()
	}
	if err == nil {
		x.removeOthers(g.number)
	}
	close(b.done)
}

// build makes generation number from all of the source. Only its last write says that it is complete.
func (x *Index) build(number int) (*generation, error) {
	if err := os.MkdirAll(x.o.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("the search folder could not be made: %w", err)
	}
	seq := x.o.Source.Newest() // before All: a change after it comes again, and replaces itself
	g, err := makeGeneration(filepath.Join(x.o.Dir, folderName(number)), number)
	if err != nil {
		return nil, err
	}
	w := g.writer(seq)
	for doc, err := range x.o.Source.All(x.ctx) {
		if err == nil {
			err = x.ctx.Err()
		}
		if err == nil {
			err = w.add(doc)
		}
		if err != nil {
			_ = g.close()
			_ = os.RemoveAll(g.dir)
			return nil, err
		}
	}
	if err := w.complete(); err != nil {
		_ = g.close()
		return nil, err
	}
	return g, nil
}
