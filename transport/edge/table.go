package edge

import "time"

// small is the limit of routes that read no body, or only a few fields: some clients send "{}" anyway.
const small = 64 << 10

// group is the routes that need one port.
type group struct {
	served bool
	routes []Route
}

// table is everything the gateway serves, in the contract's order. What has no port in o is left out.
func table(o *Options) []Route {
	json := o.JSONLimit
	groups := []group{
		{true, []Route{
			{Method: "WS", Path: "/ws", Rights: Gateway, Section: "1", handle: (*Server).socket},
			{Method: "GET", Path: "/api/health", Rights: Open, Section: "2", handle: (*Server).health},
		}},
		{o.Home != nil, []Route{
			{Method: "GET", Path: "/api/bootstrap", Rights: Gateway, Section: "2", handle: (*Server).bootstrap},
		}},
		{o.Onboarding != nil, []Route{
			{Method: "POST", Path: "/api/onboarding", Rights: Gateway, Section: "2", Limit: json, handle: (*Server).onboard},
		}},
		{o.Config != nil, []Route{
			{Method: "GET", Path: "/api/config", Rights: Gateway, Section: "2", handle: (*Server).configGet},
			{Method: "GET", Path: "/api/config/schema", Rights: Gateway, Section: "2", handle: (*Server).configSchema},
			{Method: "PUT", Path: "/api/config", Rights: Gateway, Section: "2", Limit: json, handle: (*Server).configPut},
			{Method: "PATCH", Path: "/api/config", Rights: Gateway, Section: "2", Limit: json, handle: (*Server).configPatch},
		}},
		{o.Consent != nil, []Route{
			{Method: "GET", Path: "/api/approvals/grants", Rights: Gateway, Section: "2", handle: (*Server).grants},
			{Method: "DELETE", Path: "/api/approvals/grants/{id}", Rights: Gateway, Section: "2", handle: (*Server).revokeGrant},
			{Method: "POST", Path: "/api/undo", Rights: Gateway, Section: "2", handle: (*Server).undo},
			{Method: "GET", Path: "/api/sessions/{id}/rule-proposals", Rights: Gateway, Section: "2", handle: (*Server).ruleProposals},
			{Method: "POST", Path: "/api/rule-proposals/{id}", Rights: Gateway, Section: "2", handle: (*Server).decideProposal},
		}},
		{true, []Route{
			{Method: "POST", Path: "/api/approvals", Rights: Gateway, Section: "2", handle: (*Server).approve},
			{Method: "GET", Path: "/api/sessions", Rights: Gateway, Section: "2", handle: (*Server).sessions},
			{Method: "POST", Path: "/api/sessions", Rights: Gateway, Section: "2", handle: (*Server).createSession},
			{Method: "PATCH", Path: "/api/sessions/{id}", Rights: Gateway, Section: "2", handle: (*Server).patchSession},
			{Method: "DELETE", Path: "/api/sessions/{id}", Rights: Gateway, Section: "2", handle: (*Server).deleteSession},
			{Method: "POST", Path: "/api/sessions/{id}/trust", Rights: Gateway, Section: "2", handle: (*Server).trustSession},
			{Method: "GET", Path: "/api/sessions/{id}/messages", Rights: Gateway, Section: "2", handle: (*Server).messages},
			{Method: "GET", Path: "/api/sessions/search", Rights: Gateway, Section: "2", handle: (*Server).search},
			{Method: "POST", Path: "/api/chat", Rights: Gateway | MCP, Section: "2", Limit: json, handle: (*Server).chat},
		}},
		{o.Files != nil, []Route{
			{Method: "POST", Path: "/api/files", Rights: Gateway, Section: "2", Limit: o.UploadLimit, Timeout: 30 * time.Minute, handle: (*Server).upload},
			{Method: "GET", Path: "/api/files", Rights: Gateway, Section: "2", handle: (*Server).files},
			{Method: "GET", Path: "/api/files/content/{name...}", Rights: Gateway, Section: "2", handle: (*Server).fileContent},
			{Method: "HEAD", Path: "/api/files/content/{name...}", Rights: Gateway, Section: "2", handle: (*Server).fileHead},
			{Method: "DELETE", Path: "/api/files/{name...}", Rights: Gateway, Section: "2", handle: (*Server).deleteFile},
		}},
		{o.Tools != nil, []Route{
			{Method: "GET", Path: "/api/tools", Rights: Gateway, Section: "2", handle: (*Server).tools},
		}},
		{o.Timeline != nil, []Route{
			{Method: "POST", Path: "/api/timeline/restore", Rights: Gateway, Section: "21", Timeout: 5 * time.Minute, handle: (*Server).restoreItem},
		}},
		{o.Usage != nil, []Route{
			{Method: "GET", Path: "/api/usage", Rights: Gateway, Section: "2", handle: (*Server).usage},
			{Method: "GET", Path: "/api/usage/cost", Rights: Gateway, Section: "2", handle: (*Server).usageCost},
			{Method: "POST", Path: "/api/usage/budget/keep-going", Rights: Gateway, Section: "2", handle: (*Server).keepGoing},
		}},
		{o.Models != nil, []Route{
			{Method: "GET", Path: "/api/models/providers", Rights: Gateway, Section: "3", handle: (*Server).providers},
			{Method: "GET", Path: "/api/models/local", Rights: Gateway, Section: "3", handle: (*Server).localModels},
			{Method: "POST", Path: "/api/models/test", Rights: Gateway, Section: "3", Timeout: 2 * time.Minute, handle: (*Server).testModel},
			{Method: "POST", Path: "/api/models/test-embedding", Rights: Gateway, Section: "3", Timeout: 2 * time.Minute, handle: (*Server).testEmbedding},
			{Method: "PUT", Path: "/api/models/roles", Rights: Gateway, Section: "3", handle: (*Server).setRoles},
		}},
		{o.Queue != nil, []Route{
			{Method: "GET", Path: "/api/models/busy", Rights: Gateway, Section: "3", handle: (*Server).modelBusy},
		}},
		{o.Plans != nil, []Route{
			{Method: "GET", Path: "/api/models/claude-code", Rights: Gateway, Section: "3", handle: (*Server).claudeCode},
		}},
		{o.Setup != nil, []Route{
			{Method: "GET", Path: "/api/system/hardware", Rights: Gateway, Section: "3", handle: (*Server).hardware},
			{Method: "POST", Path: "/api/models/checkup", Rights: Gateway, Section: "3", handle: (*Server).checkup},
			{Method: "PUT", Path: "/api/models/fallbacks", Rights: Gateway, Section: "3", handle: (*Server).setFallbacks},
			{Method: "POST", Path: "/api/models/ollama/pull", Rights: Gateway, Section: "3", handle: (*Server).pull},
			{Method: "GET", Path: "/api/models/presets", Rights: Gateway, Section: "3", handle: (*Server).presets},
			{Method: "POST", Path: "/api/models/presets/{name}/apply", Rights: Gateway, Section: "3", handle: (*Server).applyPreset},
			{Method: "POST", Path: "/api/models/presets/undo", Rights: Gateway, Section: "3", handle: (*Server).undoPreset},
			{Method: "POST", Path: "/api/models/presets", Rights: Gateway, Section: "3", handle: (*Server).savePreset},
			{Method: "PATCH", Path: "/api/models/presets/{name}", Rights: Gateway, Section: "3", handle: (*Server).renamePreset},
			{Method: "DELETE", Path: "/api/models/presets/{name}", Rights: Gateway, Section: "3", handle: (*Server).deletePreset},
		}},
		{o.Secrets != nil, []Route{
			{Method: "GET", Path: "/api/secrets", Rights: Gateway, Section: "3", handle: (*Server).secrets},
			{Method: "PUT", Path: "/api/secrets/{name}", Rights: Gateway, Section: "3", handle: (*Server).setSecret},
			{Method: "DELETE", Path: "/api/secrets/{name}", Rights: Gateway, Section: "3", handle: (*Server).deleteSecret},
		}},
		{o.Plans != nil, []Route{
			{Method: "POST", Path: "/api/models/connect/openrouter", Rights: Gateway, Section: "3", handle: (*Server).connectOpenRouter},
			{Method: "GET", Path: "/api/models/connect/openrouter/{state}", Rights: Gateway, Section: "3", handle: (*Server).openRouterStatus},
			{Method: "GET", Path: "/api/models/connect/chatgpt", Rights: Gateway, Section: "3", handle: (*Server).chatGPTAccount},
			{Method: "POST", Path: "/api/models/connect/chatgpt/welcome", Rights: Gateway, Section: "3", handle: (*Server).welcomed},
			{Method: "POST", Path: "/api/models/connect/chatgpt", Rights: Gateway, Section: "3", handle: (*Server).connectChatGPT},
			{Method: "GET", Path: "/api/models/connect/chatgpt/{state}", Rights: Gateway, Section: "3", handle: (*Server).chatGPTStatus},
			{Method: "DELETE", Path: "/api/models/connect/chatgpt", Rights: Gateway, Section: "3", handle: (*Server).signOut},
			{Method: "GET", Path: "/api/models/catalog/{provider}", Rights: Gateway, Section: "3", handle: (*Server).catalog},
		}},
		{o.Models != nil, []Route{
			{Method: "POST", Path: "/api/models/connect/{provider}/check", Rights: Gateway, Section: "3", handle: (*Server).checkProvider},
		}},
		{o.Notices != nil, []Route{
			{Method: "GET", Path: "/api/notifications", Rights: Gateway, Section: "6", handle: (*Server).notifications},
			{Method: "POST", Path: "/api/notifications", Rights: Gateway | MCP, Section: "6", handle: (*Server).notifyMe},
			{Method: "POST", Path: "/api/notifications/{id}/read", Rights: Gateway, Section: "6", handle: (*Server).readNotification},
			{Method: "POST", Path: "/api/notifications/read-all", Rights: Gateway, Section: "6", handle: (*Server).readAllNotifications},
			{Method: "DELETE", Path: "/api/notifications/{id}", Rights: Gateway, Section: "6", handle: (*Server).deleteNotification},
			{Method: "DELETE", Path: "/api/notifications", Rights: Gateway, Section: "6", handle: (*Server).deleteNotifications},
		}},
		{o.Stop != nil, []Route{
			{Method: "GET", Path: "/api/stop", Rights: Gateway, Section: "17", handle: (*Server).stopState},
			{Method: "POST", Path: "/api/stop-all", Rights: Gateway, Section: "17", handle: (*Server).stopAll},
			{Method: "POST", Path: "/api/resume", Rights: Gateway, Section: "17", handle: (*Server).resume},
		}},
	}
	var routes []Route
	for _, g := range groups {
		if !g.served {
			continue
		}
		for _, r := range g.routes {
			if r.Limit == 0 {
				r.Limit = small
			}
			routes = append(routes, r)
		}
	}
	return routes
}
