package oauth

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"time"
)

// CallbackPath is where providers send the browser back to.
const CallbackPath = "/oauth/callback"

// Phase is how far a sign-in is.
type Phase string

// The phases, in order. The last two are final.
const (
	Waiting    Phase = "waiting"
	Exchanging Phase = "exchanging"
	Connected  Phase = "connected"
	Failed     Phase = "failed"
)

// Status is what a window is told of a sign-in. Error is a plain sentence, nil unless it failed.
type Status struct {
	Status Phase   `json:"status"`
	Error  *string `json:"error"`
}

// Started is a sign-in that waits for the browser.
type Started struct {
	AuthURL string `json:"auth_url"`
	State   string `json:"state"`
}

// Flow is one provider's side of a sign-in.
type Flow struct {
	Kind string // the provider; a state is only known under its own kind
	// AuthURL is the page to open in the browser. Redirect is this listener's callback address.
	AuthURL func(redirect, state string) (string, error)
	// Finish takes the callback's parameters and stores what came of it. Its error is shown when it is a *Refusal, and only
	// logged otherwise.
	Finish func(ctx context.Context, redirect string, callback url.Values) error
}

// Refusal is an error whose text a person may read.
type Refusal struct{ Text string }

func (r *Refusal) Error() string { return r.Text }

// Options of a Receiver. The zero value works.
type Options struct {
	Port   func() int // the fixed port, 0 for any free one; asked whenever the listener opens
	Listen func(port int) (net.Listener, error)
	Life   time.Duration // how long a sign-in may wait, and how long its end is remembered; 0: 15 minutes
	Within time.Duration // for Finish; 0: one minute
	Logger *slog.Logger
}

const (
	maxWaiting = 16  // sign-ins that wait; the oldest gives way
	maxKnown   = 128 // sign-ins that are remembered
)

// Receiver is the loopback listener and the sign-ins that wait for it. Close it.
//
// Invariant: each sign-in leaves Waiting once, under mu, and whoever took it out is the only one to finish it.
type Receiver struct {
	o    Options
	base context.Context // of what runs for callbacks
	end  context.CancelFunc
	busy sync.WaitGroup

	mu     sync.Mutex
	flows  map[string]*flow
	order  []string // states, oldest first
	server *server  // nil while nothing waits
	closed bool
}

type flow struct {
	Flow
	redirect string
	phase    Phase
	text     string
	timer    *time.Timer // ends a wait that takes too long, later forgets the sign-in
}

type server struct {
	http     *http.Server
	ln       net.Listener
	redirect string
}

// New makes a Receiver; nothing listens yet.
func New(o Options) *Receiver {
	if o.Port == nil {
		o.Port = func() int { return 0 }
	}
	if o.Listen == nil {
		o.Listen = func(port int) (net.Listener, error) {
			return net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
		}
	}
	if o.Life <= 0 {
		o.Life = 15 * time.Minute
	}
	if o.Within <= 0 {
		o.Within = time.Minute
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	r := &Receiver{o: o, flows: map[string]*flow{}}
	r.base, r.end = context.WithCancel(context.Background())
	return r
}

var errClosed = &Refusal{"Sentient is shutting down. Try again when it runs again."}

// Begin starts a sign-in. The error is a *Refusal, or Flow.AuthURL's own.
func (r *Receiver) Begin(f Flow) (Started, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return Started{}, errClosed
	}
	if err := r.open(); err != nil {
		return Started{}, err
	}
	state := Random()
	address, err := f.AuthURL(r.server.redirect, state)
	if err != nil {
		r.settle()
		return Started{}, err
	}
	fl := &flow{Flow: f, redirect: r.server.redirect, phase: Waiting}
	fl.timer = time.AfterFunc(r.o.Life, func() { r.expire(state) })
	r.flows[state] = fl
	r.order = append(r.order, state)
	r.crowd()
	return Started{AuthURL: address, State: state}, nil
}

// Status says how far a sign-in of that kind is; false when there is none of that state.
func (r *Receiver) Status(kind, state string) (Status, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	f := r.flows[state]
	if f == nil || f.Kind != kind {
		return Status{}, false
	}
	s := Status{Status: f.phase}
	if f.phase == Failed {
		s.Error = &f.text
	}
	return s, true
}

// Cancel ends every waiting sign-in of a kind.
func (r *Receiver) Cancel(kind string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, f := range r.flows {
		if f.Kind == kind && f.phase == Waiting {
			f.phase, f.text = Failed, "This sign-in was cancelled. Start again."
		}
	}
	r.settle()
}

// open listens if nothing does. The caller holds mu.
func (r *Receiver) open() error {
	if r.server != nil {
		return nil
	}
	port := r.o.Port()
	ln, err := r.o.Listen(port)
	if err != nil {
		r.o.Logger.Warn("the sign-in listener could not open", "port", port, "reason", err.Error())
		return &Refusal{fmt.Sprintf("The browser sign-in needs port %d of this computer, and another program has it. Close that program, or set integrations.oauth_redirect_port to 0.", port)}
	}
	s := &server{ln: ln, redirect: "http://127.0.0.1:" + strconv.Itoa(portOf(ln, port)) + CallbackPath}
	s.http = &http.Server{Handler: http.HandlerFunc(r.serve), ReadHeaderTimeout: 10 * time.Second, ReadTimeout: 10 * time.Second,
		WriteTimeout: r.o.Within + 30*time.Second, IdleTimeout: 5 * time.Second, MaxHeaderBytes: 32 << 10,
		ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)} // its lines quote addresses, and those hold codes
	r.server = s
	r.busy.Go(func() {
		if err := s.http.Serve(ln); !errors.Is(err, http.ErrServerClosed) && !errors.Is(err, net.ErrClosed) {
			r.o.Logger.Warn("the sign-in listener ended", "reason", err.Error())
		}
	})
	return nil
}

func portOf(ln net.Listener, port int) int {
	if a, ok := ln.Addr().(*net.TCPAddr); ok {
		return a.Port
	}
	return port
}

// settle closes the listener once nothing waits for it; pages that are being answered are still sent. The caller holds mu.
func (r *Receiver) settle() {
	if r.server == nil {
		return
	}
	for _, f := range r.flows {
		if f.phase == Waiting || f.phase == Exchanging {
			return
		}
	}
	s := r.server
	r.server = nil
	_ = s.ln.Close() // at once: the next sign-in may want the same port
	r.busy.Go(func() {
		ctx, cancel := context.WithTimeout(r.base, 10*time.Second)
		defer cancel()
		if s.http.Shutdown(ctx) != nil {
			_ = s.http.Close()
		}
	})
}

// crowd bounds what is kept. The caller holds mu.
func (r *Receiver) crowd() {
	waiting := 0
	for i := len(r.order) - 1; i >= 0; i-- {
		f := r.flows[r.order[i]]
		if f.phase != Waiting {
			continue
		}
		if waiting++; waiting > maxWaiting {
			f.phase, f.text = Failed, "A newer sign-in was started instead of this one."
		}
	}
	for i := 0; len(r.order) > maxKnown && i < len(r.order); {
		if p := r.flows[r.order[i]].phase; p == Waiting || p == Exchanging {
			i++
			continue
		}
		r.forget(r.order[i])
	}
}

// forget drops a sign-in. The caller holds mu.
func (r *Receiver) forget(state string) {
	r.flows[state].timer.Stop()
	delete(r.flows, state)
	for i, s := range r.order {
		if s == state {
			r.order = append(r.order[:i], r.order[i+1:]...)
			return
		}
	}
}

// expire ends a wait that took too long, and at its second run forgets the sign-in.
func (r *Receiver) expire(state string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	f := r.flows[state]
	switch {
	case f == nil || r.closed:
	case f.phase == Waiting:
		f.phase, f.text = Failed, "The sign-in took too long. Start again."
		f.timer.Reset(r.o.Life)
		r.settle()
	case f.phase == Exchanging:
		f.timer.Reset(r.o.Life)
	default:
		r.forget(state)
	}
}

// Close ends the listener and every sign-in, and waits until nothing of them runs.
func (r *Receiver) Close(ctx context.Context) error {
	r.mu.Lock()
	r.closed = true
	for _, f := range r.flows {
		f.timer.Stop()
	}
	s := r.server
	r.server = nil
	r.mu.Unlock()
	r.end()
	if s != nil {
		_ = s.http.Close()
	}
	done := make(chan struct{})
	go func() { r.busy.Wait(); close(done) }()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return errors.New("a sign-in has not ended")
	}
}
