//go:build !demo

package main

import "sentient/actors/msg"

// morePlugins are what only tests and the demo have (see pretend.go).
var morePlugins = func(func(string) string) ([]msg.Plugin, error) { return nil, nil }
