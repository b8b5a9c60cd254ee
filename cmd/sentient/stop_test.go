package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sentient/transport/llm/llmtest"
)

// busyModel does what the person's words ask for, and never ends by itself.
func busyModel(r llmtest.Request) llmtest.Reply {
	last := r.Last()
	tool := func(name, args string) llmtest.Reply {
		return llmtest.Tools(llmtest.Call{Name: name, Arguments: args})
	}
	switch {
	case last.Role == "tool":
		return llmtest.Text("It is over: " + last.Text)
	case strings.Contains(last.Text, "story"):
		return llmtest.Reply{Steps: []llmtest.Step{{Text: "Once upon a time "}, {Stall: true}}}
	case strings.Contains(last.Text, "children"):
		return tool("trouble_children", `{"count":"5"}`)
	case strings.Contains(last.Text, "deaf"):
		return tool("trouble_deaf", `{"seconds":"4"}`)
	case strings.Contains(last.Text, "break"):
		return tool("trouble_panic", `{}`)
	case strings.Contains(last.Text, "mail"):
		return tool("mail_send", lunch)
	}
	return llmtest.Text("Yes.")
}

// childrenOf counts the programs that run with this home as theirs.
func childrenOf(t *testing.T, home, name string) (n int) {
	t.Helper()
	dirs, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range dirs {
		env, _ := os.ReadFile(d + "/environ")
		cmd, _ := os.ReadFile(d + "/cmdline")
		if bytes.Contains(env, []byte("HOME="+home+"\x00")) && bytes.HasPrefix(cmd, []byte(name+"\x00")) {
			n++
		}
	}
	return n
}

// A-1078, A-1079, A-1080, A-1082, A-1085, A-1087: one request ends replies, tools, an approval and programs that ignore signals;
// it names what does not listen; what waited is dropped; a kill -9 right after it changes nothing; Resume brings nothing back.
func TestStopEverything(t *testing.T) {
	if _, err := os.Stat("/proc/self/environ"); err != nil {
		t.Skip("without /proc the programs cannot be counted")
	}
	model := scripted(t, llmtest.Options{Script: busyModel})
	home := newHome(t, model, "")
	p := startInAWorld(t, home)
	w := p.dial("")
	chats := map[string]string{}
	for _, what := range []string{"story", "children", "deaf", "mail to priya@example.com that Friday at 1 works"} {
		w.send(map[string]any{"type": "chat.send", "text": "Please, a " + what})
		until := map[string]string{"story": "text_delta", "children": "tool_call", "deaf": "tool_call"}[what]
		if until == "" {
			until = "approval_request"
		}
		e := w.next(until)
		chats[strings.Fields(what)[0]] = e["session_id"].(string)
	}
	eventually(t, "the programs to run", func() bool { return childrenOf(t, home, "sleep") == 5 })
	w.send(map[string]any{"type": "chat.steer", "session_id": chats["story"], "text": "Also.", "client_id": "k2"})
	w.next("steer_ack")
	behind := map[string]any{"type": "chat.send", "session_id": chats["story"], "text": "Behind.", "attachments": []string{"x.txt"}, "client_id": "k1"}
	w.send(behind)
	w.send(behind)
	if e := w.next("session"); e["client_id"] != "k1" { // told of the second one, that it is known
		t.Fatalf("%v", e)
	}

	r := call[map[string]any](p, "POST", "/api/stop-all", nil)
	if r["stopped"] != true || r["source"] != "desktop" || r["stopped_at"] == nil || r["cancelled"] != 4.0 || fmt.Sprint(r["not_ended"]) != "[tool trouble_deaf]" {
		t.Fatalf("%v", r)
	}
	if n := childrenOf(t, home, "sleep"); n != 0 {
		t.Fatalf("%d programs are left", n)
	}
	again := call[map[string]any](p, "POST", "/api/stop-all", map[string]any{"source": "tray"})
	if again["stopped_at"] != r["stopped_at"] || again["source"] != "desktop" {
		t.Fatalf("%v", again)
	}
	checkStopEvents(t, w, chats)
	p.kill()
	p = start(t, home)
	if s := call[map[string]any](p, "GET", "/api/stop", nil); s["stopped"] != true || s["stopped_at"] != r["stopped_at"] {
		t.Fatalf("%v", s)
	}
	if s := call[map[string]any](p, "GET", "/api/bootstrap", nil)["stop"].(map[string]any); s["stopped"] != true {
		t.Fatalf("%v", s)
	}
	story := p.transcript(chats["story"])
	if !strings.HasSuffix(story, "Once upon a time\n\n(stopped)\n") {
		t.Fatal(story)
	}
	asked := len(model.Requests())
	if s := call[map[string]any](p, "POST", "/api/resume", map[string]any{"source": "telegram"}); s["stopped"] != false || s["stopped_at"] != nil || s["source"] != "telegram" {
		t.Fatalf("%v", s)
	}
	p.chat(map[string]any{"text": "Are you there?"})
	if n := len(model.Requests()); n != asked+1 || len(p.effects("email")) != 0 {
		t.Fatalf("%d model calls, %v", n-asked, p.effects(""))
	}
	if got := p.transcript(chats["story"]); got != story {
		t.Fatal(got)
	}
}

// checkStopEvents reads what the socket was told: the flag once, an end for every turn, and the message that waited.
func checkStopEvents(t *testing.T, w *socket, chats map[string]string) {
	t.Helper()
	w.send(map[string]any{"type": "ping"})
	var dropped, updated int
	ended := map[any]string{}
	for _, e := range w.until("pong") {
		switch e["type"] {
		case "stop.updated":
			updated++
		case "error":
			if e["dropped"] != true || e["client_id"] != "k1" || e["message"] != "Stopped. Your queued message wasn't sent." {
				t.Fatalf("%v", e)
			}
			dropped++
		case "done":
			if e["cancelled"] != true {
				t.Fatalf("%v", e)
			}
			if e["client_id"] == "k1" {
				if fmt.Sprint(e["dropped"]) != "[Behind.]" {
					t.Fatalf("%v", e)
				}
				continue
			}
			ended[e["session_id"]] += fmt.Sprint(e["dropped"])
		}
	}
	if updated != 1 || dropped != 1 || len(ended) != len(chats) || ended[chats["story"]] != "[Also.]" {
		t.Fatalf("%d %d %v", updated, dropped, ended)
	}
}

// A tool that breaks down is an error of its call; nothing else notices.
func TestAToolThatBreaksDown(t *testing.T) {
	model := scripted(t, llmtest.Options{Script: busyModel})
	home := newHome(t, model, "")
	p := startInAWorld(t, home)
	events := p.chat(map[string]any{"text": "Please break"})
	last := events[len(events)-1]
	if last["type"] != "done" || !strings.Contains(fmt.Sprint(last["content"]), "Something went wrong inside trouble_panic") {
		t.Fatalf("%v", last)
	}
	if log := p.out.String(); strings.Contains(log, "Please break") {
		t.Fatal("the log holds the person's words")
	}
}

// The terminal's stop and resume, with and without an engine.
func TestStopFromATerminal(t *testing.T) {
	model := scripted(t, llmtest.Options{Script: busyModel})
	home := newHome(t, model, "")
	say := func(args ...string) string { out, _ := command(home, args...).CombinedOutput(); return string(out) }
	if got := say("stop"); !strings.Contains(got, "no engine is running in this data folder") {
		t.Fatal(got)
	}
	p := start(t, home)
	w := p.dial("")
	w.send(map[string]any{"type": "chat.send", "text": "A story"})
	w.next("text_delta")
	if got := say("stop"); !strings.HasPrefix(got, "Everything is stopped. Jobs that were cancelled: 1.") {
		t.Fatal(got)
	}
	w.next("done")
	if s := call[map[string]any](p, "GET", "/api/stop", nil); s["stopped"] != true || s["source"] != "cli" {
		t.Fatalf("%v", s)
	}
	if got := say("resume"); got != "Work goes on.\n" {
		t.Fatal(got)
	}
	p.kill()
	if got := say("resume"); !strings.Contains(got, "does not answer") {
		t.Fatal(got)
	}
}

// A message over HTTP that a stop ends has its done like any other.
func TestStopOfAStreamOverHTTP(t *testing.T) {
	model := scripted(t, llmtest.Options{Script: busyModel})
	p := start(t, newHome(t, model, ""))
	got := make(chan []map[string]any, 1)
	go func() { got <- p.chat(map[string]any{"text": "A story"}) }()
	eventually(t, "the model to be asked", func() bool { return len(model.Requests()) == 1 })
	call[map[string]any](p, "POST", "/api/stop-all", map[string]any{"source": "hotkey"})
	select {
	case events := <-got:
		if last := events[len(events)-1]; last["type"] != "done" || last["cancelled"] != true {
			t.Fatalf("%v", last)
		}
	case <-time.After(time.Minute):
		t.Fatal("the stream does not end")
	}
}

// A stop while calls wait for a local model, while a model is downloaded and while a chat waits in the queue: all end at once, the
// model is free, and nothing of it is asked later.
func TestStopOfWhatWaitsForTheLocalModel(t *testing.T) {
	model, gate := gated(t)
	p := start(t, ollamaHome(t, model))
	w := p.dial("")
	for i := range 3 {
		w.send(map[string]any{"type": "chat.send", "text": "A story", "client_id": fmt.Sprint(i)})
	}
	eventually(t, "two chats to wait for the third", func() bool { return len(model.Requests()) == 1 && p.busy().Waiting == 2 })
	r := call[map[string]any](p, "POST", "/api/stop-all", nil)
	if r["cancelled"] != 3.0 || r["not_ended"] != nil {
		t.Fatalf("%v", r)
	}
	for range 3 {
		if d := w.next("done"); d["cancelled"] != true {
			t.Fatalf("%v", d)
		}
	}
	gate <- struct{}{}
	eventually(t, "the model to be free", func() bool { b := p.busy(); return !b.Busy && b.Waiting == 0 })
	gate <- struct{}{}
	p.chat(map[string]any{"text": "Hello"})
	if n := len(model.Requests()); n != 2 {
		t.Fatalf("%d model calls", n)
	}
}

// A stop ends a download with a plain line, and a later one can be started while everything is stopped.
func TestStopOfADownload(t *testing.T) {
	model := scripted(t, llmtest.Options{Pull: []llmtest.PullLine{{Status: "pulling manifest"}, {Stall: true}}})
	p := start(t, ollamaHome(t, model))
	got := make(chan []map[string]any, 1)
	go func() {
		_, body := p.try("POST", "/api/models/ollama/pull", `{"name":"qwen3:14b"}`)
		got <- ndjson(t, body)
	}()
	eventually(t, "the download to begin", func() bool { return len(model.Pulls()) == 1 })
	if r := call[map[string]any](p, "POST", "/api/stop-all", nil); r["cancelled"] != 1.0 {
		t.Fatalf("%v", r)
	}
	ended := <-got
	if last := ended[len(ended)-1]; !strings.Contains(fmt.Sprint(last), "Stopped.") {
		t.Fatalf("%v", last)
	}
}

// A stop right at the start of an engine that was killed while chats ran and waited: they are settled, none goes on.
func TestStopAtTheStart(t *testing.T) {
	model := scripted(t, llmtest.Options{Script: busyModel})
	home := newHome(t, model, "")
	p := start(t, home)
	w := p.dial("")
	var chats []string
	for i := range 20 {
		w.send(map[string]any{"type": "chat.send", "text": "A story", "client_id": fmt.Sprint(i)})
		chats = append(chats, w.next("session")["session_id"].(string))
		again := map[string]any{"type": "chat.send", "session_id": chats[i], "text": "Behind.", "attachments": []string{"x.txt"}, "client_id": fmt.Sprint("b", i)}
		w.send(again)
		w.send(again)
		for w.next("session")["client_id"] != fmt.Sprint("b", i) {
		}
	}
	p.kill()
	p = start(t, home)
	r := call[map[string]any](p, "POST", "/api/stop-all", nil)
	asked := len(model.Requests())
	if r["stopped"] != true || r["not_ended"] != nil {
		t.Fatalf("%v", r)
	}
	call[map[string]any](p, "POST", "/api/resume", nil)
	for _, id := range chats {
		text := p.transcript(id)
		// A chat that the stop finds before it was settled was ended by both.
		if ended := strings.Contains(text, "(interrupted)\n") || strings.HasSuffix(text, "(stopped)\n"); !ended || strings.Count(text, "user: ")-strings.Count(text, "user: Behind.") != 1 {
			t.Fatal(text)
		}
	}
	p.chat(map[string]any{"text": "Hello"})
	if n := len(model.Requests()); n != asked+1 {
		t.Fatalf("%d model calls after the stop", n-asked)
	}
}

// A stop ends a model test, too: whatever asks a model is in the kill table.
func TestStopOfAModelTest(t *testing.T) {
	model := scripted(t, llmtest.Options{Script: func(llmtest.Request) llmtest.Reply {
		return llmtest.Reply{Steps: []llmtest.Step{{Stall: true}}}
	}})
	p := start(t, newHome(t, model, ""))
	got := make(chan map[string]any, 1)
	go func() {
		got <- call[map[string]any](p, "POST", "/api/models/test", map[string]any{"model": "lm_studio/test"})
	}()
	eventually(t, "the model to be asked", func() bool { return len(model.Requests()) == 1 })
	if r := call[map[string]any](p, "POST", "/api/stop-all", nil); r["cancelled"] != 1.0 || r["not_ended"] != nil {
		t.Fatalf("%v", r)
	}
	if r := <-got; r["ok"] != false || r["error"] == "" {
		t.Fatalf("%v", r)
	}
}
