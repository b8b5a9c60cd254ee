//go:build !demo

package main

import (
	"sentient/actors/msg"
	"sentient/runtime/work"
	"sentient/transport/plan"
)

// morePlugins are what only tests and the demo have (see pretend.go).
var morePlugins = func(func(string) string, *work.Table) ([]msg.Plugin, error) { return nil, nil }

// faultsOf is what only the demo can be told to let go wrong.
func faultsOf(func(string) string) faults { return faults{} }

// pretendPlans is where plans are signed in to; only the demo can be told another place than the providers' own.
func pretendPlans(func(string) string) plan.Endpoints { return plan.Endpoints{} }
