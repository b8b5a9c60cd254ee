package llmtest

import (
	"bufio"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
)

func post(t *testing.T, client *http.Client, url, body string) *http.Response {
	t.Helper()
	resp, err := client.Post(url, "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	return resp
}

// Tokens come on the schedule of a load run, stamped with the time they were written at, on fake time too.
func TestLoadIsOnSchedule(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pipe := NewPipe()
		s, err := New(Options{Listener: pipe, URL: PipeURL, Load: &Load{Tokens: 20, Every: 15 * time.Millisecond, Stamp: true}})
		if err != nil {
			t.Fatal(err)
		}
		client := &http.Client{Transport: &http.Transport{DialContext: pipe.Dial}}
		began := time.Now()
		resp := post(t, client, s.URL()+"/api/chat", `{"model":"m","messages":[]}`)
		lines := bufio.NewScanner(resp.Body)
		n := 0
		for lines.Scan() {
			_, rest, ok := strings.Cut(lines.Text(), `"content":"`)
			stamp, _, _ := strings.Cut(rest, ` "`)
			if at, err := strconv.ParseInt(stamp, 10, 64); ok && err == nil {
				if time.Unix(0, at) != time.Unix(0, began.UnixNano()).Add(time.Duration(n)*15*time.Millisecond) || time.Now().UnixNano() != at {
					t.Errorf("token %d was written at %v", n, time.Unix(0, at).Sub(began))
				}
				n++
			}
		}
		resp.Body.Close()
		if n != 20 {
			t.Errorf("%d tokens", n)
		}
		client.CloseIdleConnections()
		s.Close()
		synctest.Wait()
	})
}

func TestServerRemembersAndForgets(t *testing.T) {
	defer goleak.VerifyNone(t)
	s, err := New(Options{Script: func(r Request) Reply { return Text("You said " + r.Last().Text) }})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	client := &http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			resp := post(t, client, s.URL()+"/v1/chat/completions", `{"model":"m","messages":[{"role":"system","content":"S"},{"role":"user","content":[{"type":"text","text":"hi"},{"type":"image_url","image_url":{"url":"data:"}}]},{"role":"assistant","content":null,"tool_calls":[{"id":"1","function":{"name":"f","arguments":"{}"}}]},{"role":"tool","tool_call_id":"1","content":"done"}]}`)
			b, _ := io.ReadAll(resp.Body)
			resp.Body.Close()
			if !strings.Contains(string(b), "done") || !strings.HasSuffix(string(b), "data: [DONE]\n\n") {
				t.Errorf("%s", b)
			}
		})
	}
	wg.Wait()
	if n := len(s.Requests()); n != 20 {
		t.Fatalf("%d requests", n)
	}
	r := s.Requests()[0]
	if r.System != "S" || len(r.Messages) != 3 || r.Messages[0].Images != 1 || r.Messages[1].Calls[0].Name != "f" || r.Last().CallID != "1" {
		t.Errorf("%+v", r)
	}
	if resp := post(t, client, s.URL()+"/nowhere", ""); resp.StatusCode != 404 {
		t.Errorf("%d", resp.StatusCode)
	} else {
		resp.Body.Close()
	}
}

func FuzzParse(f *testing.F) {
	f.Add("anthropic", []byte(`{"model":"m","system":[{"type":"text","text":"s"}],"messages":[{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"x"}]}]}`))
	f.Add("ollama", []byte(`{"messages":[{"role":"user","content":"x","images":["aa"]}]}`))
	f.Fuzz(func(t *testing.T, protocol string, body []byte) { parse(protocol, nil, body) })
}
