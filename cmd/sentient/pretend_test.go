package main

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"sentient/actors/msg"
	"sentient/runtime/work"
	"sentient/transport/pretend"
)

// beInAWorld gives the engine of a test the pretend world: its value is the file that effects are written to.
const beInAWorld = "SENTIENT_TEST_PRETEND_WORLD"

func pretendPlugins(getenv func(string) string, table *work.Table) ([]msg.Plugin, error) {
	log := getenv(beInAWorld)
	if log == "" {
		return nil, nil
	}
	w := pretend.New(pretend.Demo(), log)
	return append(w.Plugins(), w.Trouble(table, "trouble")), nil
}

// startInAWorld starts an engine whose calls have effects that outlive it.
func startInAWorld(t *testing.T, home string) *process {
	t.Helper()
	t.Setenv(beInAWorld, filepath.Join(home, "effects.log"))
	return start(t, home)
}

// effects are what left the engine, in all its lives.
func (p *process) effects(kind string) (list []pretend.Effect) {
	p.t.Helper()
	f, err := os.Open(filepath.Join(p.home, "effects.log"))
	if os.IsNotExist(err) {
		return nil
	}
	if err != nil {
		p.t.Fatal(err)
	}
	defer f.Close()
	for s := bufio.NewScanner(f); s.Scan(); {
		var e pretend.Effect
		if err := json.Unmarshal(s.Bytes(), &e); err != nil {
			p.t.Fatal(err)
		}
		if kind == "" || e.Kind == kind {
			list = append(list, e)
		}
	}
	return list
}
