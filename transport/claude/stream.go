package claude

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"sentient/actors/msg"
	"sentient/runtime/proc"
	"sentient/runtime/work"
)

const (
	maxLine   = 8 << 20   // bytes of one line
	maxOutput = 512 << 20 // bytes of one process's output
	// quietFactor bounds how many timeouts a process may stay alive with lines that are no part of a reply.
	quietFactor = 5
	grace       = 500 * time.Millisecond // between asking a process to end and killing its tree
	drain       = 2 * time.Second        // for output that an ended process left behind
)

var errLine = errors.New("a line of its output is longer than 8 MiB")

// Stream answers one request with one process. The error is a *msg.ModelError; Emit runs on the caller's goroutine.
func (p *Program) Stream(ctx context.Context, req msg.ModelRequest, emit func(msg.ModelChunk) error) (msg.ModelResult, error) {
	if text := p.o.Refuse(req.Role, req.Job); text != "" {
		return msg.ModelResult{}, fail(req.Model, msg.FaultRefused, text, "")
	}
	path, err := p.o.Find()
	if err != nil {
		return msg.ModelResult{}, fail(req.Model, msg.FaultBadModel, missingText, err.Error())
	}
	release, err := p.o.Acquire(ctx, Call{Model: req.Model, Role: req.Role, Job: req.Job})
	if err != nil {
		return msg.ModelResult{}, p.ended(ctx, req.Model, err)
	}
	defer release()
	res, failed := p.run(ctx, path, req, emit)
	if failed != nil {
		if failed.Fault != msg.FaultCancelled {
			p.o.Logger.Warn("Claude Code failed", "model", cut(req.Model, 120), "fault", string(failed.Fault), "raw", failed.Raw)
		}
		res.Calls, res.Stop = nil, "" // half a call must never run
		return res, failed
	}
	return res, nil
}

// ended is the error of a call that was stopped before its process ran.
func (p *Program) ended(ctx context.Context, model string, err error) *msg.ModelError {
	text := "Stopped."
	if errors.Is(err, work.ErrStopped) || errors.Is(context.Cause(ctx), work.ErrStopped) {
		text = stoppedText
	}
	return fail(model, msg.FaultCancelled, text, err.Error())
}

func (p *Program) run(ctx context.Context, path string, req msg.ModelRequest, emit func(msg.ModelChunk) error) (msg.ModelResult, *msg.ModelError) {
	line, err := input(req.Messages)
	if err != nil {
		return msg.ModelResult{}, fail(req.Model, msg.FaultOther, failedText, err.Error())
	}
	s, err := p.newScratch(req)
	var unreadable *json.MarshalerError
	if errors.As(err, &unreadable) {
		return msg.ModelResult{}, fail(req.Model, msg.FaultOther, "A tool's description for the model is not valid JSON. Turn that tool off in Settings > Tools.", err.Error())
	}
	if err != nil {
		return msg.ModelResult{}, fail(req.Model, msg.FaultOther, "Claude Code needs a scratch folder, and it can't be made. Check the disk's space, then try again.", err.Error())
	}
	defer func() {
		if err := s.remove(); err != nil {
			p.o.Logger.Warn("a scratch folder of Claude Code is left for the next start", "reason", err.Error())
		}
	}()
	_, name, _ := strings.Cut(req.Model, "/")
	child, err := proc.Start(ctx, p.o.Table, proc.Spec{Run: p.spec(ctx, req.Job), Path: path, Args: p.args(s, name, req), Dir: s.dir,
		EnvAllow: []string{}, Env: environment(p.o.Environ()), MaxStdout: maxOutput, Grace: grace})
	if err != nil {
		if ctx.Err() != nil || errors.Is(err, work.ErrStopped) || errors.Is(err, work.ErrClosed) {
			return msg.ModelResult{}, p.ended(ctx, req.Model, err)
		}
		return msg.ModelResult{}, fail(req.Model, msg.FaultUnreachable, "Claude Code could not be started. Run claude in a terminal to see why"+another, err.Error())
	}
	t := &talk{p: p, child: child, model: req.Model, name: name, reply: newReply(emit)}
	err = t.hold(ctx, line)
	return t.reply.finished(), t.verdict(ctx, err)
}

// spec names the run: it belongs to whoever asks, and goes down with them in the kill table.
func (p *Program) spec(ctx context.Context, job string) work.Spec {
	s := work.Spec{ID: p.o.NewID(), Owner: "claude-code", Origin: work.User, Label: "Claude Code"}
	if caller, ok := work.SpecOf(ctx); ok {
		s.Owner, s.Origin, s.Unit, s.Epoch = caller.Owner, caller.Origin, cmp.Or(caller.Unit, caller.ID), caller.Epoch
	} else if job != "" && job != "chat" && job != "interactive" && job != "test" {
		s.Origin = work.Background
	}
	return s
}

// talk is the conversation with one process.
type talk struct {
	p           *Program
	child       *proc.Process
	model, name string
	reply       *reply
	silent      atomic.Bool
	waiting     atomic.Bool // for the process to write something
}

// hold writes the conversation, reads the reply, and returns when the whole tree has ended.
func (t *talk) hold(ctx context.Context, line []byte) error {
	var helpers sync.WaitGroup
	over := make(chan struct{})
	helpers.Go(func() {
		_, err := t.child.Stdin.Write(line) // a process that never reads is ended by its silence
		if cerr := t.child.Stdin.Close(); err != nil || cerr != nil {
			t.p.o.Logger.Debug("Claude Code did not take the whole conversation", "reason", errors.Join(err, cerr).Error())
		}
	})
	helpers.Go(func() {
		t.watch(ctx, over)
		if err := t.child.Close(); err != nil {
			t.p.o.Logger.Warn("Claude Code did not end cleanly", "reason", err.Error())
		}
	})
	err := t.read()
	close(over)
	helpers.Wait()
	return err
}

// watch returns when the process must end, or when it has and its output had time to be read. What left the process's group may
// hold the output open; it is not waited for.
func (t *talk) watch(ctx context.Context, over <-chan struct{}) {
	select {
	case <-over:
		return
	case <-ctx.Done():
		return
	case <-t.child.Done():
	}
	tick := time.NewTicker(drain / 8)
	defer tick.Stop()
	for empty := 0; empty < 8; {
		select {
		case <-over:
			return
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if empty++; !t.waiting.Load() { // there is still something to read, and a slow reader is not hurried
			empty = 0
		}
	}
}

// read takes lines until the reply is whole. Only time spent waiting for the process counts as its silence.
func (t *talk) read() error {
	in := bufio.NewReaderSize(t.child.Stdout, 64<<10)
	idle := t.p.timeout()
	timer := time.AfterFunc(idle, func() { t.silent.Store(true); t.child.Stop() })
	defer timer.Stop()
	var quiet time.Duration // waited since the last part of a reply
	for !t.reply.ended {
		began := time.Now()
		timer.Reset(max(0, min(idle, quietFactor*idle-quiet)))
		t.waiting.Store(true)
		line, err := readLine(in)
		t.waiting.Store(false)
		timer.Stop()
		quiet += time.Since(began)
		if len(line) > 0 {
			var e event
			if json.Unmarshal(line, &e) == nil { // what is not JSON is a warning of the program
				progress, err := t.reply.take(&e)
				if err != nil {
					return err
				}
				if progress {
					quiet = 0
				}
			}
		}
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
	}
	if !t.reply.ended {
		return io.ErrUnexpectedEOF
	}
	return nil
}

// readLine gives the next line without its end. The last one may come with io.EOF.
func readLine(in *bufio.Reader) ([]byte, error) {
	var long []byte
	for {
		part, err := in.ReadSlice('\n')
		if len(long)+len(part) > maxLine {
			return nil, errLine
		}
		long = append(long, part...)
		if err != bufio.ErrBufferFull {
			return long, err
		}
	}
}

// verdict gives what went wrong its words; nil when nothing did.
func (t *talk) verdict(ctx context.Context, err error) *msg.ModelError {
	if err == nil {
		return nil
	}
	e := t.why(ctx, err)
	e.Said = t.reply.said
	return e
}

func (t *talk) why(ctx context.Context, err error) *msg.ModelError {
	var foreign *foreignError
	var result *resultError
	ended, cause := t.child.Wait(context.Background()) // it has ended
	switch {
	case t.reply.emitErr != nil:
		return fail(t.model, msg.FaultCancelled, "Stopped.", t.reply.emitErr.Error())
	case errors.Is(context.Cause(ctx), context.DeadlineExceeded):
		return fail(t.model, msg.FaultTimeout, "Claude Code took too long. Try again"+another, "the caller's time for the call was over")
	case ctx.Err() != nil, errors.Is(cause, work.ErrStopped), errors.Is(cause, work.ErrClosed), errors.Is(cause, work.ErrCancelled):
		return fail(t.model, msg.FaultCancelled, "Stopped.", "")
	case errors.As(err, &foreign):
		return fail(t.model, msg.FaultOther, fmt.Sprintf("Claude Code offered a tool of its own (%s), so Sentient stopped it. Update Claude Code%s", cut(strings.ToValidUTF8(foreign.tool, "?"), 60), another), err.Error())
	case errors.Is(err, errNoInit):
		return fail(t.model, msg.FaultOther, "Claude Code did not say which tools it has, so Sentient stopped it. Update Claude Code"+another, err.Error())
	case errors.As(err, &result):
		fault, text := result.verdict(t.name)
		return fail(t.model, fault, text, result.text)
	case t.silent.Load():
		return fail(t.model, msg.FaultTimeout, fmt.Sprintf("Claude Code did not answer for %d seconds. Try again%s", int(t.p.timeout().Seconds()), another), "it was silent")
	}
	raw := fmt.Sprintf("%v; exit code %d %s; it said: %s", err, ended.ExitCode, ended.Signal, strings.TrimSpace(string(ended.Stderr)))
	if said := (&resultError{string(ended.Stderr)}); ended.ExitCode > 0 && !t.reply.said {
		if fault, text := said.verdict(t.name); fault == msg.FaultKey {
			return fail(t.model, fault, text, raw)
		}
	}
	return fail(t.model, msg.FaultCut, brokeText, raw)
}
