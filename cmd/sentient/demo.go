//go:build demo

package main

import (
	"sentient/actors/msg"
	"sentient/transport/pretend"
)

// morePlugins of the demo: a pretend world to act on (make demo). SENTIENT_SCENE names the file it begins with, and
// SENTIENT_SCENE_LOG one that what was done is written to.
var morePlugins = func(getenv func(string) string) ([]msg.Plugin, error) {
	path := getenv("SENTIENT_SCENE")
	if path == "" {
		return pretend.New(pretend.Demo(), getenv("SENTIENT_SCENE_LOG")).Plugins(), nil
	}
	w, err := pretend.Open(path, getenv("SENTIENT_SCENE_LOG"))
	if err != nil {
		return nil, err
	}
	return w.Plugins(), nil
}
