package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"time"

	"sentient/runtime/app"
	"sentient/transport/edge"
	"sentient/transport/plan"
)

// closeWithin bounds the end of everything behind the gateway.
const closeWithin = 15 * time.Second

func (m *Main) serve(ctx context.Context, f serveFlags) (err error) {
	home, err := app.FindHome(m.Getenv, m.UserHome)
	if err != nil {
		return err
	}
	if err := home.Prepare(); err != nil {
		return err
	}
	log, logFile, err := app.NewLogger(app.LogOptions{Path: home.Log(), Stderr: m.Stderr, Level: level(f.Log)})
	if err != nil {
		log.Warn("the log file cannot be written", "reason", err.Error())
	}
	defer logFile.Close()
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	at := m.plans
	if at == (plan.Endpoints{}) {
		at = pretendPlans(m.Getenv)
	}
	e := &engine{home: home, log: log, getenv: m.Getenv, userHome: m.UserHome, endpoints: at, format: m.format, fatal: func(err error) {
		log.Error("the store failed; everything acknowledged is kept and the next start has it", "reason", err.Error())
		os.Exit(2)
	}}
	defer func() {
		bound, cancel := context.WithTimeout(context.Background(), closeWithin)
		defer cancel()
		err = errors.Join(err, e.close(bound))
	}()
	if err := e.open(ctx); err != nil {
		return err
	}
	return m.listen(ctx, e, f)
}

func (m *Main) listen(ctx context.Context, e *engine, f serveFlags) error {
	host, port := e.live.Get().Gateway.Host, e.live.Get().Gateway.Port
	if f.Host != "" {
		host = f.Host
	}
	if f.Port != nil {
		port = *f.Port
	}
	ln, err := edge.Listen(host, port)
	if err != nil {
		return err
	}
	address, err := e.announce(ln)
	if err != nil {
		ln.Close()
		return err
	}
	defer e.home.RemoveDiscovery(address)
	token, err := e.home.Token(m.Getenv)
	if err != nil {
		ln.Close()
		return err
	}
	link := address + "/#token=" + token
	fmt.Fprintf(m.Stdout, "Sentient is ready. Chat at %s\n", link)
	if f.Open {
		m.openBrowser(e.log, link)
	}
	return e.serve(ctx, ln)
}

// announce writes down where the engine is. One that only the network reaches is not announced to programs here.
func (e *engine) announce(ln net.Listener) (string, error) {
	address, err := app.Address(ln.Addr())
	if err != nil {
		return "http://" + ln.Addr().String(), nil
	}
	return address, e.home.WriteDiscovery(address)
}

func level(s string) slog.Level {
	var l slog.Level
	if l.UnmarshalText([]byte(s)) != nil {
		return slog.LevelInfo
	}
	return l
}

// openBrowser shows the window where there is a desktop; elsewhere the printed address is enough.
func (m *Main) openBrowser(log *slog.Logger, link string) {
	var cmd *exec.Cmd
	switch {
	case runtime.GOOS == "darwin":
		cmd = exec.Command("open", link)
	case runtime.GOOS == "windows":
		cmd = exec.Command("rundll32", "url.dll,FileProtocolHandler", link)
	case m.Getenv("DISPLAY") != "" || m.Getenv("WAYLAND_DISPLAY") != "":
		cmd = exec.Command("xdg-open", link)
	default:
		return
	}
	if err := cmd.Start(); err != nil {
		log.Info("the browser could not be opened; open the printed address yourself")
		return
	}
	go func() { _ = cmd.Wait() }() // reaped whenever it ends; it is the person's browser, not ours
}

// routes prints what the gateway serves, without starting anything.
func (m *Main) routes() error {
	var b strings.Builder
	for _, r := range edge.AllRoutes() {
		fmt.Fprintf(&b, "%s %s\n", r.Method, strings.ReplaceAll(r.Path, "...}", "}"))
	}
	_, err := fmt.Fprint(m.Stdout, b.String())
	return err
}
