//go:build demo

package main

import (
	"sentient/actors/msg"
	"sentient/transport/plan"
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
