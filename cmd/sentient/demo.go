//go:build demo

package main

import (
	"sentient/actors/msg"
	"sentient/runtime/work"
	"sentient/transport/plan"
	"sentient/transport/pretend"
)

// morePlugins of the demo: a pretend world to act on (make demo). SENTIENT_SCENE names the file it begins with,
// SENTIENT_SCENE_LOG one that what was done is written to, and SENTIENT_TROUBLE and SENTIENT_FAULTS add
// tools that misbehave.
var morePlugins = func(getenv func(string) string, table *work.Table) ([]msg.Plugin, error) {
	w := pretend.New(pretend.Demo(), getenv("SENTIENT_SCENE_LOG"))
	if path := getenv("SENTIENT_SCENE"); path != "" {
		var err error
		if w, err = pretend.Open(path, getenv("SENTIENT_SCENE_LOG")); err != nil {
			return nil, err
		}
	}
	list := w.Plugins()
	if getenv("SENTIENT_TROUBLE") != "" {
		list = append(list, pretend.Trouble(table))
	}
	if mark := getenv("SENTIENT_FAULTS"); mark != "" { // of the processes that the tools start
		list = append(list, w.Faults(mark, table))
	}
	return list, nil
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
