package llmtest

import (
	"errors"
	"io"
	"net/http"
	"strconv"
	"time"
)

var (
	errGone = errors.New("the client is gone")
	errCut  = errors.New("cut by the script")
)

// stream writes to a client at once, piece by piece.
type stream struct {
	w    http.ResponseWriter
	rc   *http.ResponseController
	done <-chan struct{}
	buf  []byte
}

func (s *stream) begin(contentType string) error {
	s.w.Header().Set("Content-Type", contentType)
	s.w.Header().Set("Cache-Control", "no-cache")
	s.w.WriteHeader(http.StatusOK)
	return s.rc.Flush()
}

func (s *stream) send(data string) error {
	if _, err := io.WriteString(s.w, data); err != nil {
		return errGone
	}
	if s.rc.Flush() != nil {
		return errGone
	}
	return nil
}

func (s *stream) sleep(d time.Duration) error {
	if d <= 0 {
		return nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-s.done:
		return errGone
	}
}

// cut closes the connection without the end that HTTP asks for.
func (s *stream) cut() {
	if conn, _, err := s.rc.Hijack(); err == nil {
		_ = conn.Close() // that is the point
	}
}

// speaker says things in one protocol. Text and thinking are already JSON-escaped by it.
type speaker interface {
	begin() error
	text(s string) error
	thinking(s string) error
	signature(s string) error
	calls(c []Call, pieces int, mixed bool) error
	ping() error
	fail(message string) error
	end(stop string, hasCalls bool, u *Usage) error
	// token gives what goes before and after a token's plain text, for load runs.
	token() (before, after string)
}

func newSpeaker(protocol string, out *stream, req Request) speaker {
	switch protocol {
	case "anthropic":
		return &anthropicSpeaker{out: out, model: req.Model, index: -1}
	case "ollama":
		return &ollamaSpeaker{out: out, model: req.Model}
	}
	return &openAISpeaker{out: out, model: req.Model, usage: req.Usage}
}

func play(p speaker, out *stream, r Reply) error {
	if err := p.begin(); err != nil {
		return err
	}
	for _, step := range r.Steps {
		if err := playStep(p, out, step); err != nil {
			return err
		}
	}
	if r.NoEnd {
		return nil
	}
	return p.end(r.Stop, r.hasCalls(), r.Usage)
}

func playStep(p speaker, out *stream, s Step) error {
	if err := out.sleep(s.Wait); err != nil {
		return err
	}
	type act struct {
		on bool
		do func() error
	}
	for _, a := range []act{
		{s.Thinking != "", func() error { return p.thinking(s.Thinking) }},
		{s.Signature != "", func() error { return p.signature(s.Signature) }},
		{s.Text != "", func() error { return p.text(s.Text) }},
		{len(s.Calls) > 0, func() error { return p.calls(s.Calls, s.Pieces, s.Mixed) }},
		{s.Ping, p.ping},
		{s.Raw != "", func() error { return out.send(s.Raw) }},
		{s.Error != "", func() error {
			if err := p.fail(s.Error); err != nil {
				return err
			}
			return errCut
		}},
		{s.Stall, func() error { <-out.done; return errGone }},
		{s.Cut, func() error { out.cut(); return errCut }},
		{s.Endless != "", func() error { return endless(out, s.Endless) }},
	} {
		if !a.on {
			continue
		}
		if err := a.do(); err != nil {
			return err
		}
	}
	return nil
}

func endless(out *stream, data string) error {
	for {
		select {
		case <-out.done:
			return errGone
		default:
		}
		if err := out.send(data); err != nil {
			return err
		}
	}
}

// load streams tokens on a schedule that starts with the first.
func (s *Server) load(p speaker, out *stream, l *Load) error {
	if err := p.begin(); err != nil {
		return err
	}
	before, after := p.token()
	word := l.Token
	if word == "" {
		word = "word "
	}
	began := time.Now()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for i := range l.Tokens {
		select {
		case <-timer.C:
		case <-out.done:
			return errGone
		}
		out.buf = append(out.buf[:0], before...)
		if l.Stamp {
			out.buf = append(strconv.AppendInt(out.buf, time.Now().UnixNano(), 10), ' ')
		} else {
			out.buf = append(out.buf, word...)
		}
		out.buf = append(out.buf, after...)
		if _, err := out.w.Write(out.buf); err != nil {
			return errGone
		}
		if out.rc.Flush() != nil {
			return errGone
		}
		timer.Reset(time.Until(began.Add(time.Duration(i+1) * l.Every)))
	}
	return p.end("", false, &Usage{Prompt: 10, Completion: l.Tokens})
}
