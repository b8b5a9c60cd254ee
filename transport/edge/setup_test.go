package edge

import (
	"bufio"
	"context"
	"errors"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"sentient/actors/msg"
)

// fakeSetup stands for the room of model setups: it says what it was asked.
type fakeSetup struct {
	ended chan error // the pull that hangs tells here why it ended
}

func (*fakeSetup) Hardware(_ context.Context, refresh bool) (any, error) {
	return map[string]any{"summary": "unknown", "refreshed": refresh}, nil
}
func (*fakeSetup) Checkup(_ context.Context, roles map[string]*string, emit func(any) error) error {
	if _, ok := roles["sidekick"]; ok {
		return msg.NewFault(msg.BadRequest, "There is no such role.")
	}
	for _, typ := range []string{"start", "done"} {
		if err := emit(map[string]any{"type": typ, "roles": len(roles)}); err != nil {
			return err
		}
	}
	return nil
}
func (f *fakeSetup) Pull(ctx context.Context, name string, emit func(any) error) error {
	switch name {
	case "nobody":
		return &msg.ModelError{Fault: msg.FaultUnreachable, Message: "Ollama is not answering."}
	case "panic":
		panic("secret words")
	}
	if err := emit(map[string]string{"status": "pulling <manifest>"}); err != nil {
		return err
	}
	switch name {
	case "breaks":
		return &msg.ModelError{Fault: msg.FaultCut, Message: "The download broke off."}
	case "hangs":
		<-ctx.Done()
		f.ended <- context.Cause(ctx)
		return ctx.Err()
	case "endless":
		for {
			if err := emit(map[string]string{"status": strings.Repeat("x", 1000)}); err != nil {
				f.ended <- err
				return err
			}
		}
	}
	return emit(map[string]string{"status": "success"})
}
func (*fakeSetup) SetFallbacks(_ context.Context, lists map[string][]string) error {
	if len(lists["sidekick"]) > 0 {
		return errBadConfig
	}
	return nil
}
func (*fakeSetup) Presets(context.Context) (any, error) {
	return map[string]any{"presets": []any{}}, nil
}

// refusedName: some names stand for the refusals there are.
func refusedName(name string) error {
	switch name {
	case "none":
		return msg.NewFault(msg.NotFound, "There is no such preset.")
	case "taken", "not available":
		return msg.NewFault(msg.Conflict, "It is taken.")
	case "", "Cloud":
		return msg.NewFault(msg.BadRequest, "This name cannot be used.")
	}
	return nil
}

func (*fakeSetup) ApplyPreset(_ context.Context, name string, localOnly bool) (any, error) {
	return map[string]any{"applied": name, "local_only": localOnly}, refusedName(name)
}
func (*fakeSetup) UndoPreset(context.Context) (any, error) {
	return nil, msg.NewFault(msg.Conflict, "There is nothing to undo.")
}
func (*fakeSetup) SavePreset(_ context.Context, name string, overwrite bool) (any, error) {
	return map[string]any{"saved": name, "overwrite": overwrite}, refusedName(name)
}
func (*fakeSetup) RenamePreset(_ context.Context, name, to string) (any, error) {
	return map[string]any{"from": name, "to": to}, errors.Join(refusedName(name), refusedName(to))
}
func (*fakeSetup) DeletePreset(_ context.Context, name string) error { return refusedName(name) }

// setupProbes provoke what the contract says of these routes.
var setupProbes = map[string][]probe{
	"GET /api/system/hardware":              {{path: "/api/system/hardware", want: 200}},
	"POST /api/models/checkup":              {{path: "/api/models/checkup", want: 200}, {path: "/api/models/checkup", body: `{"roles":{"sidekick":"a/b"}}`, want: 400}},
	"PUT /api/models/fallbacks":             {{path: "/api/models/fallbacks", body: `{"fast":["a/b"]}`, want: 200}},
	"POST /api/models/ollama/pull":          {{path: "/api/models/ollama/pull", body: `{"name":"a"}`, want: 200}},
	"GET /api/models/presets":               {{path: "/api/models/presets", want: 200}},
	"POST /api/models/presets/{name}/apply": {{path: "/api/models/presets/A/apply", want: 200}, {path: "/api/models/presets/none/apply", want: 404}, {path: "/api/models/presets/not%20available/apply", want: 409}},
	"POST /api/models/presets/undo":         {{path: "/api/models/presets/undo", want: 409}},
	"POST /api/models/presets":              {{path: "/api/models/presets", body: `{"name":"A"}`, want: 200}, {path: "/api/models/presets", body: `{"name":"Cloud"}`, want: 400}, {path: "/api/models/presets", body: `{"name":"taken"}`, want: 409}},
	"PATCH /api/models/presets/{name}":      {{path: "/api/models/presets/A", body: `{"name":"B"}`, want: 200}, {path: "/api/models/presets/Cloud", body: `{"name":"B"}`, want: 400}, {path: "/api/models/presets/none", body: `{"name":"B"}`, want: 404}, {path: "/api/models/presets/A", body: `{"name":"taken"}`, want: 409}},
	"DELETE /api/models/presets/{name}":     {{path: "/api/models/presets/A", want: 200}, {path: "/api/models/presets/Cloud", want: 400}, {path: "/api/models/presets/none", want: 404}},
}

func TestSetupRoutes(t *testing.T) {
	g := serve(t, nil)
	for _, c := range []struct {
		method, path, body string
		status             int
		want               string
	}{
		{"GET", "/api/system/hardware", "", 200, `{"refreshed":false,"summary":"unknown"}`},
		{"GET", "/api/system/hardware?refresh=true", "", 200, `{"refreshed":true,"summary":"unknown"}`},
		{"GET", "/api/system/hardware?refresh=maybe", "", 422, "refresh"},
		{"POST", "/api/models/checkup", "", 200, `{"roles":0,"type":"start"}` + "\n" + `{"roles":0,"type":"done"}` + "\n"},
		{"POST", "/api/models/checkup", `{"roles":{"fast":"a/b","vision":null}}`, 200, `{"roles":2,"type":"start"}` + "\n" + `{"roles":2,"type":"done"}` + "\n"},
		{"POST", "/api/models/checkup", `{"roles":{"sidekick":"a/b"}}`, 400, "no such role"},
		{"POST", "/api/models/checkup", `{"roles":{"fast":"b"}}`, 422, "roles.fast"},
		{"POST", "/api/models/checkup", `{"roles":["fast"]}`, 422, "roles"},
		{"POST", "/api/models/ollama/pull", `{"name":"qwen3:8b"}`, 200, `{"status":"pulling <manifest>"}` + "\n" + `{"status":"success"}` + "\n"},
		{"POST", "/api/models/ollama/pull", `{"name":"breaks"}`, 200, `{"status":"pulling <manifest>"}` + "\n" + `{"error":"The download broke off.","status":"error"}` + "\n"},
		{"POST", "/api/models/ollama/pull", `{"name":"nobody"}`, 502, "not answering"},
		{"POST", "/api/models/ollama/pull", `{"name":"panic"}`, 500, "log has the details"},
		{"POST", "/api/models/ollama/pull", `{}`, 422, "name"},
		{"PUT", "/api/models/fallbacks", `{"fast":["a/b","c/d"],"vision":[],"voice":null}`, 200, `{"ok":true}`},
		{"PUT", "/api/models/fallbacks", `{"fast":["b"]}`, 422, "fast"},
		{"PUT", "/api/models/fallbacks", `{"fast":"a/b"}`, 422, "fast"},
		{"PUT", "/api/models/fallbacks", `{"sidekick":["a/b"]}`, 422, "theme"},
		{"GET", "/api/models/presets", "", 200, `{"presets":[]}`},
		{"POST", "/api/models/presets/Local%20only/apply", "", 200, `{"applied":"Local only","local_only":false}`},
		{"POST", "/api/models/presets/Mine/apply", `{"local_only":true}`, 200, `{"applied":"Mine","local_only":true}`},
		{"POST", "/api/models/presets/Mine/apply", `{"local_only":"yes"}`, 422, "local_only"},
		{"POST", "/api/models/presets/undo", "", 409, "nothing to undo"},
		{"POST", "/api/models/presets", `{"name":"Mine","overwrite":true}`, 200, `{"overwrite":true,"saved":"Mine"}`},
		{"POST", "/api/models/presets", `{}`, 400, "name"},
		{"PATCH", "/api/models/presets/Mine", `{"name":"Ours"}`, 200, `{"from":"Mine","to":"Ours"}`},
		{"DELETE", "/api/models/presets/Mine", "", 200, `{"ok":true}`},
		{"DELETE", "/api/models/presets/Cloud", "", 400, "cannot be used"},
	} {
		r := g.call(c.method, c.path, c.body)
		if r.status != c.status || r.status == 200 && r.body != c.want || !strings.Contains(r.body, c.want) {
			t.Errorf("%s %s %s: %d %s", c.method, c.path, c.body, r.status, r.body)
		}
	}
	if strings.Contains(g.logs.String(), "secret words") {
		t.Error("the text of a panic is in the log")
	}
}

// A line is with the client before the next one is made, and a client that goes away ends the work: at the next line that cannot
// be written.
func TestLinesEndWithTheirClient(t *testing.T) {
	setup := &fakeSetup{ended: make(chan error, 1)}
	g := serve(t, func(o *Options) { o.Setup = setup; o.WriteFor = 2 * time.Second })
	conn, err := net.Dial("tcp", g.addr)
	if err != nil {
		t.Fatal(err)
	}
	body := `{"name":"endless"}`
	req, _ := http.NewRequest("POST", "http://"+g.addr+"/api/models/ollama/pull", strings.NewReader(body))
	req.Header.Set("Authorization", "Bearer "+token)
	if err := req.Write(conn); err != nil {
		t.Fatal(err)
	}
	res, err := http.ReadResponse(bufio.NewReader(conn), req)
	if err != nil || res.StatusCode != 200 {
		t.Fatal(res, err)
	}
	if line, err := bufio.NewReader(res.Body).ReadString('\n'); err != nil || !strings.Contains(line, "manifest") {
		t.Fatalf("%q %v", line, err)
	}
	_ = conn.Close()
	if err := <-setup.ended; err == nil {
		t.Error("the work went on")
	}
}

// A stop of the engine ends what streams, with a last line that says so.
func TestAStopEndsLines(t *testing.T) {
	setup := &fakeSetup{ended: make(chan error, 1)}
	g := serve(t, func(o *Options) { o.Setup = setup })
	req, _ := http.NewRequest("POST", "http://"+g.addr+"/api/models/ollama/pull", strings.NewReader(`{"name":"hangs"}`))
	req.Header.Set("Authorization", "Bearer "+token)
	res, err := g.http.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	lines := bufio.NewReader(res.Body)
	if _, err := lines.ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	stopped := make(chan error, 1)
	go func() { stopped <- g.stop() }()
	last, err := lines.ReadString('\n')
	if err != nil || !strings.Contains(last, `"status":"error"`) || !strings.Contains(last, "shutting down") {
		t.Errorf("%q %v", last, err)
	}
	if cause := <-setup.ended; !errors.Is(cause, msg.ErrStopping) {
		t.Error(cause)
	}
	if err := <-stopped; err != nil {
		t.Error(err)
	}
}
