//go:build demo

package main

import (
	"path/filepath"

	"sentient/actors/msg"
	"sentient/runtime/work"
	"sentient/storage/pebblestore"
	"sentient/transport/plan"
	"sentient/transport/pretend"
)

// morePlugins of the demo: a pretend world to act on (make demo). SENTIENT_SCENE names the file it begins with,
// SENTIENT_SCENE_LOG one that what was done is written to. SENTIENT_TROUBLE adds tools that misbehave; its value marks the
// programs that they start, and is the folder of the switches (see faultsOf).
var morePlugins = func(getenv func(string) string, table *work.Table) ([]msg.Plugin, error) {
	w := pretend.New(pretend.Demo(), getenv("SENTIENT_SCENE_LOG"))
	if path := getenv("SENTIENT_SCENE"); path != "" {
		var err error
		if w, err = pretend.Open(path, getenv("SENTIENT_SCENE_LOG")); err != nil {
			return nil, err
		}
	}
	list := w.Plugins()
	if mark := getenv("SENTIENT_TROUBLE"); mark != "" {
		list = append(list, w.Trouble(table, mark))
	}
	return list, nil
}

// faultsOf lets actors and the disk fail when somebody outside says so, in the folder that SENTIENT_TROUBLE names.
func faultsOf(getenv func(string) string) (f faults) {
	if at := getenv("SENTIENT_TROUBLE"); filepath.IsAbs(at) {
		s := pretend.Switches(at)
		f.disturb, f.disk.FS = s.Disturb, pebblestore.Troubled(s)
	}
	return f
}

// pretendPlans sends the sign-ins of plans to a server that plays the providers: SENTIENT_PRETEND_PLANS is its address. It is not
// in what people run, where nothing may turn a sign-in to another address.
func pretendPlans(getenv func(string) string) plan.Endpoints {
	at := getenv("SENTIENT_PRETEND_PLANS")
	if at == "" {
		return plan.Endpoints{}
	}
	return plan.Endpoints{OpenRouterAuth: at + "/auth", OpenRouterKeys: at + "/keys", Authorize: at + "/authorize", Token: at + "/token",
		Revoke: at + "/revoke", Keys: at + "/jwks", Issuer: at}
}
