package worker

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

// Binary is the worker's file name.
const Binary = "sentient-worker"

// Errors of a request. Others are plain sentences about the document.
var (
	ErrMissing = errors.New("the program that reads documents (sentient-worker) is missing: build it with `make build` and keep it beside sentient")
	ErrSlow    = errors.New("the document takes too long to read")
	ErrMemory  = errors.New("the document needs more memory than one document may use")
	ErrBroken  = errors.New("the document could not be read: it seems to be damaged")
)

// Options say where the worker is and what it may use.
type Options struct {
	Path     string        // of the binary; "" looks beside the running program, then in $PATH
	Timeout  time.Duration // of one request; default 30 s
	Parallel int           // requests at once, others wait; default 2
	Memory   int64         // bytes of the Go heap that the child tries to stay below; default 256 MiB
}

// Validate fills the defaults.
func (o *Options) Validate() error {
	if o.Timeout < 0 || o.Parallel < 0 || o.Memory < 0 {
		return errors.New("the worker's limits cannot be negative")
	}
	if o.Timeout == 0 {
		o.Timeout = 30 * time.Second
	}
	if o.Parallel == 0 {
		o.Parallel = 2
	}
	if o.Memory == 0 {
		o.Memory = 256 << 20
	}
	return nil
}

// Client runs the worker. It has nothing to close: a child lives no longer than the call that started it.
type Client struct {
	o     Options
	slots chan struct{}
}

// New makes a client; a missing binary is found out by the first request.
func New(o Options) (*Client, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	return &Client{o: o, slots: make(chan struct{}, o.Parallel)}, nil
}

// Document gives limit characters of a document's text from offset on. kind is "pdf" or "docx"; total is -1 when the
// document was only read as far as this part. f stays open.
func (c *Client) Document(ctx context.Context, kind string, f *os.File, offset, limit int) (text string, total int, more bool, err error) {
	if kind != KindPDF && kind != KindDocx {
		return "", 0, false, fmt.Errorf("documents of the kind %q cannot be read", kind)
	}
	res, err := c.do(ctx, Request{Kind: kind, Offset: max(offset, 0), Limit: min(max(limit, 1), maxChars)}, nil, f)
	return res.Text, res.Total, res.More, err
}

// Page gives the title and the readable part of a web page as Markdown. html is UTF-8; what is over MaxPage is left out.
func (c *Client) Page(ctx context.Context, html []byte, pageURL string) (title, text string, err error) {
	html = html[:min(len(html), MaxPage)]
	res, err := c.do(ctx, Request{Kind: KindPage, URL: pageURL, Size: len(html), Limit: maxChars}, html, nil)
	return res.Title, res.Text, err
}

func (c *Client) do(ctx context.Context, req Request, body []byte, doc *os.File) (Response, error) {
	path, err := c.find()
	if err != nil {
		return Response{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, c.o.Timeout)
	defer cancel()
	select {
	case c.slots <- struct{}{}:
		defer func() { <-c.slots }()
	case <-ctx.Done():
		return Response{}, ended(ctx)
	}
	req.Millis = c.o.Timeout.Milliseconds()
	line, err := json.Marshal(req)
	if err != nil {
		return Response{}, fmt.Errorf("the request to the worker cannot be written: %w", err)
	}
	return c.run(ctx, path, append(append(line, '\n'), body...), doc)
}

func (c *Client) run(ctx context.Context, path string, input []byte, doc *os.File) (Response, error) {
	// The child is told to end when the thread that started it does, so the thread is kept until the child has ended.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	cmd := exec.CommandContext(ctx, path, Command)
	cmd.Env = []string{fmt.Sprintf("GOMEMLIMIT=%d", c.o.Memory), "GOTRACEBACK=none"}
	cmd.Dir = string(filepath.Separator)
	cmd.Stdin = bytes.NewReader(input)
	out, complaint := &bounded{max: maxResponse}, &bounded{max: 4096}
	cmd.Stdout, cmd.Stderr = out, complaint
	if doc != nil {
		cmd.ExtraFiles = []*os.File{doc}
	}
	group(cmd)
	cmd.WaitDelay = time.Second
	err := cmd.Run()
	if ctx.Err() != nil {
		return Response{}, ended(ctx)
	}
	if err != nil && cmd.Process == nil {
		return Response{}, fmt.Errorf("the program that reads documents cannot be started: %w", err)
	}
	var res Response
	if err != nil || out.over || json.Unmarshal(out.buf.Bytes(), &res) != nil {
		return Response{}, verdict(err, complaint.buf.String())
	}
	if res.Error != "" {
		return Response{}, errors.New(res.Error)
	}
	return res, nil
}

// ended tells the request's own time limit from the caller's wish to stop.
func ended(ctx context.Context) error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return ErrSlow
	}
	return ctx.Err()
}

// verdict says why a child gave no answer. What it wrote to stderr is never passed on: it may hold the document's text.
func verdict(err error, complaint string) error {
	if strings.Contains(complaint, "out of memory") || strings.Contains(complaint, "cannot allocate memory") {
		return ErrMemory
	}
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() == ExitSlow {
		return ErrSlow
	}
	return ErrBroken
}

// ExitSlow is the child's exit code when its own time is over.
const ExitSlow = 75

func (c *Client) find() (string, error) { return Find(c.o.Path) }

// Find is the binary at path, or when that is "" the one beside the running program, else in $PATH. The error is ErrMissing.
func Find(path string) (string, error) {
	if path != "" {
		if _, err := os.Stat(path); err != nil {
			return "", ErrMissing
		}
		return filepath.Abs(path)
	}
	if self, err := os.Executable(); err == nil {
		beside := filepath.Join(filepath.Dir(self), Binary)
		if st, err := os.Stat(beside); err == nil && st.Mode().IsRegular() {
			return beside, nil
		}
	}
	path, err := exec.LookPath(Binary)
	if err != nil {
		return "", ErrMissing
	}
	return path, nil
}

// bounded keeps the first max bytes; more is an error, which ends the child by its broken pipe. The buffer is not embedded:
// its ReadFrom would pass by the bound.
type bounded struct {
	buf  bytes.Buffer
	max  int
	over bool
}

func (b *bounded) Write(p []byte) (int, error) {
	if room := b.max - b.buf.Len(); len(p) > room {
		b.over = true
		n, _ := b.buf.Write(p[:room])
		return n, errors.New("too much output")
	}
	return b.buf.Write(p)
}
