package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/oklog/ulid/v2"

	"sentient/actors/config"
	"sentient/actors/grants"
	"sentient/actors/modelqueue"
	"sentient/actors/models"
	"sentient/actors/msg"
	"sentient/actors/notify"
	"sentient/actors/plans"
	"sentient/actors/session"
	"sentient/actors/snapshots"
	"sentient/actors/stop"
	"sentient/actors/tool"
	"sentient/actors/usage"
	"sentient/actors/workspace"
	"sentient/runtime/act"
	"sentient/runtime/app"
	"sentient/runtime/bus"
	"sentient/runtime/work"
	"sentient/storage/blob"
	"sentient/storage/journal"
	"sentient/storage/keep"
	"sentient/storage/memstore"
	"sentient/storage/pebblestore"
	"sentient/transport/claude"
	"sentient/transport/edge"
	"sentient/transport/embed"
	"sentient/transport/file"
	"sentient/transport/hardware"
	"sentient/transport/llm"
	"sentient/transport/plan"
	"sentient/transport/web"
	"sentient/transport/window"
	"sentient/transport/worker"
)

// engine is everything, wired. The order of open is the order of dependence; close goes backwards.
type engine struct {
	home     app.Home
	log      *slog.Logger
	getenv   func(string) string
	userHome string
	fatal    func(error)

	endpoints plan.Endpoints
	format    storeFormat

	live     *app.Live
	file     *app.ConfigFile
	report   app.Report
	health   *app.Health
	bus      *bus.Bus
	work     *work.Table
	actors   *act.System
	journal  *journal.Committer
	disk     *pebblestore.Store
	blobs    *blob.Folder
	files    *file.Files
	keys     *keys
	models   *llm.Client
	embedder *embed.Model
	near     *nearness
	chats    *session.Service
	stop     *stop.Service
	grants   *grants.Service
	kept     *snapshots.Service
	config   *config.Service
	queue    *modelqueue.Service
	computer *hardware.Detector
	setups   *models.Service
	notices  *notify.Service
	claude   *claude.Program
	plans    *plan.Plans
	memory   *plans.Service
	usage    atomic.Pointer[usage.Service] // the committer's goroutine reads it
	finder   *finder
	registry *registry
	gateway  *edge.Server

	closers []closer
}

// faults are what a demo can be told to let go wrong, for trying what the engine does about it; empty in all else.
type faults struct {
	disturb func(owner string)
	disk    pebblestore.Options
}

type closer struct {
	name string
	fn   func(context.Context) error
}

func (e *engine) later(name string, fn func(context.Context) error) {
	e.closers = append(e.closers, closer{name, fn})
}

// open builds the engine up to the point where it can serve.
func (e *engine) open(ctx context.Context) error {
	for _, step := range []func(context.Context) error{e.openHome, e.openStore, e.openOutside, e.openRooms, e.openGateway} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (e *engine) openHome(context.Context) error {
	if err := e.home.Prepare(); err != nil {
		return err
	}
	e.file = app.NewConfigFile(e.home.ConfigFile())
	cfg, report, err := e.file.Start()
	e.report = report
	if err != nil {
		e.log.Error("config.yaml is not in force", "reason", err.Error(), "using", report.Source)
	}
	for _, key := range report.Unknown {
		e.log.Warn("config.yaml has a key that no setting has; it is kept and not used", "setting", key)
	}
	e.live = app.NewLive(cfg)
	e.health = &app.Health{}
	return nil
}

func (e *engine) openStore(ctx context.Context) error {
	var err error
	o := faultsOf(e.getenv).disk
	o.Dir, o.Logger, o.Fatal = e.home.Store(), e.log, e.fatal
	e.disk, err = pebblestore.Open(o)
	if err != nil {
		return err
	}
	e.bus = bus.New(bus.Options{})
	e.journal, err = journal.Open(ctx, journal.Options{Disk: e.disk, Memory: memstore.New(), Logger: e.log, Deliver: e.deliver, Schema: e.format.number, Upgrade: e.format.upgrade,
		OnErase: []func(context.Context) error{e.eraseSearch}})
	if err != nil {
		return errors.Join(err, e.disk.Close())
	}
	e.later("store", e.journal.Close)
	return nil
}

// deliver hands committed notes to the sockets; it runs on the committer, in commit order.
func (e *engine) deliver(entries []journal.Entry) {
	if u := e.usage.Load(); u != nil {
		u.Delivered(entries)
	}
	for _, n := range entries {
		if ev, ok := n.Live.(bus.Event); ok {
			ev.Seq = n.Seq
			e.bus.Publish(ev)
			e.hearReply(ev)
		}
	}
}

func (e *engine) eraseSearch(ctx context.Context) error {
	if e.finder == nil {
		return nil
	}
	return e.finder.erase(ctx)
}

// openOutside is what touches the world: files, secrets, models, the web.
func (e *engine) openOutside(context.Context) error {
	var err error
	if e.blobs, err = blob.Open(blob.Options{Dir: e.home.Files()}); err != nil {
		return err
	}
	e.later("files", func(context.Context) error { return e.blobs.Close() })
	secrets, err := openSecrets(e.home, e.userHome, e.getenv, e.log)
	if err != nil {
		return err
	}
	e.keys = newKeys(secrets, e.log)
	if err := e.openEmbedding(); err != nil {
		return err
	}
	if err := e.openClaude(); err != nil {
		return err
	}
	e.models, err = llm.New(llm.Options{Settings: e.modelSettings, Key: e.keys.get, Env: e.getenv, Allow: e.mayAsk, Counted: e.count, Builtin: e.embedder,
		Plan: planOf{e}, Claude: e.claude, Logger: e.log})
	if err != nil {
		return err
	}
	e.later("models", func(context.Context) error { e.models.Close(); return nil })
	documents, err := worker.New(worker.Options{})
	if err != nil {
		return err
	}
	e.files, err = file.New(file.Options{Folder: e.blobs, Documents: documents, Limit: func() int { return e.live.Get().Chat.ToolResultMaxChars }})
	if err != nil {
		return err
	}
	pages, err := web.New(web.Options{Reader: documents, Settings: e.webSettings})
	if err != nil {
		return err
	}
	now := time.Now
	zone := func() string {
		if z := e.live.Get().Assistant.Timezone; z != "auto" {
			return z
		}
		return ""
	}
	plugins := []msg.Plugin{tool.TimePlugin(now, zone), e.files.Plugin(), pages.Plugin(), pages.SearchPlugin(), llm.GuidePlugin()}
	more, err := morePlugins(e.getenv, e.work)
	if err != nil {
		return err
	}
	e.registry, err = newRegistry(e.live, append(plugins, more...))
	return err
}

// openRooms starts the actors.
func (e *engine) openRooms(context.Context) error {
	e.actors = act.New(act.Options{Logger: e.log, Disturb: faultsOf(e.getenv).disturb})
	e.later("actors", e.actors.Close)
	e.later("work", e.work.Close)
	var err error
	if e.stop, err = stop.New(e.actors, stop.Options{Journal: e.journal, Bus: e.bus, Work: e.work, Logger: e.log}); err != nil {
		return err
	}
	if err := e.openQueue(); err != nil {
		return err
	}
	ids := newIDs()
	if err := e.openUsage(ids.next); err != nil {
		return err
	}
	if err := e.openPlans(); err != nil {
		return err
	}
	space := workspace.New(e.home.Workspace())
	e.config, err = config.New(e.actors, config.Options{Live: e.live, File: e.file, Journal: e.journal, NewID: ids.next, Logger: e.log,
		Introduce: introduce(space), Adjust: e.moveBack})
	if err != nil {
		return err
	}
	if err = e.openSetup(ids.next); err != nil {
		return err
	}
	if e.grants, err = grants.New(e.actors, grants.Options{Journal: e.journal}); err != nil {
		return err
	}
	if err = e.openSnapshots(ids.next); err != nil {
		return err
	}
	return e.openChats(ids.next, space)
}

// openChats comes last: it settles what a crash left, and all else is there by then.
func (e *engine) openChats(newID func() string, space *workspace.Workspace) (err error) {
	key := make([]byte, 32)
	rand.Read(key)
	e.chats, err = session.New(e.actors, session.Options{Journal: e.journal, Bus: e.bus, Work: e.work, Models: modelsOf{e.models, newID, e.queue, e.live}, Registry: e.registry.get,
		Files: filesOf{e.blobs, e.files, e.log}, Workspace: promptOf{space, e.live, e.log}, Config: e.live.Get,
		Consent: consentOf{e.grants, e.config, e.registry.get, time.Now}, Snapshots: guardOf{e.kept, e.blobs}, Count: e.count, Marker: tool.NewMarker(key), Similarity: e.near.similarity, NewID: newID, Logger: e.log})
	if err != nil {
		return err
	}
	if e.finder, err = newFinder(e.home.Search(), e.journal, e.chats.Tables(), e.log); err != nil {
		return err
	}
	e.later("search", e.finder.close)
	e.watchHealth()
	e.stop.Join(e.chats) // whoever keeps work that waits joins here
	return e.chats.Settle()
}

// openSnapshots also ends what a crash left of guarded calls, before any new call is guarded.
func (e *engine) openSnapshots(newID func() string) error {
	store, err := keep.Open(e.home.Snapshots())
	if err != nil {
		return err
	}
	e.kept, err = snapshots.New(e.actors, snapshots.Options{Journal: e.journal, Store: store, NewID: newID, Logger: e.log,
		Config: func() app.ToolsSnapshots { return e.live.Get().Tools.Snapshots }})
	if err != nil {
		return err
	}
	return e.kept.Repair(context.Background())
}

func (e *engine) openGateway(context.Context) error {
	token, err := e.home.Token(e.getenv)
	if err != nil {
		return err
	}
	e.gateway, err = edge.New(e.gatewayOptions(token))
	return err
}

func (e *engine) gatewayOptions(token string) edge.Options {
	return edge.Options{Version: version, Token: token, Logger: e.log, Bus: e.bus, Log: e.journal, Chats: chatsOf{e.chats, e.finder, e.notices}, Consent: consentRoutes{e.grants, e.chats},
		Config: configOf{e.config}, Onboarding: configOf{e.config}, Files: e.blobs, Attached: e.chats.Attached, Tools: e.registry,
		Models: modelRoutes{e.models, e.config, e.queue, e.live, e.work}, Queue: queueOf{e.queue}, Setup: setupOf{e}, Secrets: secretsOf{e.keys, e.models, e.plans}, Plans: plansOf{e}, Usage: usageOf{e}, Notices: e.notices, Timeline: timelineOf{e.chats, e.kept}, Home: homeOf{e}, Stop: e.stop, Window: window.FS(),
		OnPresence: e.presence}
}

// presence tells every socket whether any window is in front.
func (e *engine) presence(inApp bool) { e.bus.Publish(presenceEvent(inApp, time.Now())) }

// serve answers on ln until ctx ends. What can wait until the engine is ready begins here.
func (e *engine) serve(ctx context.Context, ln net.Listener) error {
	ctx, end := context.WithCancel(ctx)
	defer end()
	var helpers sync.WaitGroup
	run := func(fn func(context.Context)) { helpers.Go(func() { fn(ctx) }) }
	run(e.chats.SweepIncognito)
	run(e.sweepFiles)
	run(e.sweepClaude)
	run(e.watchConfig)
	run(e.queue.Serve)
	run(e.near.serve)
	run(e.finder.follow)
	run(e.kept.Serve)
	run(func(context.Context) { e.journal.Release() })
	err := e.gateway.Serve(ctx, ln)
	end() // the gateway may have ended by itself: an engine that nobody reaches must not linger
	helpers.Wait()
	return err
}

// sweepFiles removes, once at the start, captures no message has and folders of incognito chats that are gone.
func (e *engine) sweepFiles(context.Context) {
	if _, err := e.blobs.SweepUnattached(e.chats.Attached); err != nil {
		e.log.Error("old captures could not be removed", "reason", err.Error())
	}
	if _, err := e.blobs.SweepIncognito(e.chats.Exists); err != nil {
		e.log.Error("folders of closed incognito chats could not be removed", "reason", err.Error())
	}
}

// watchConfig applies a person's own edits of config.yaml.
func (e *engine) watchConfig(ctx context.Context) {
	w := app.Watcher{File: e.file, Logger: e.log, Apply: func(cfg *app.Config, _ app.Report, err error) error {
		if err != nil {
			return err
		}
		return e.config.FromFile(ctx, cfg)
	}}
	if err := w.Serve(ctx); err != nil {
		e.log.Error("config.yaml is not watched", "reason", err.Error())
	}
}

// close ends everything, last opened first, within a bound; the error names what did not end.
func (e *engine) close(ctx context.Context) error {
	if e.chats != nil {
		e.chats.CloseIncognito(ctx)
	}
	var errs []error
	for i := len(e.closers) - 1; i >= 0; i-- {
		if err := e.closers[i].fn(ctx); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", e.closers[i].name, err))
		}
	}
	e.closers = nil
	return errors.Join(errs...)
}

// ids gives ULIDs that grow within the process (monotonic entropy, also when the clock is set back), from any goroutine.
type ids struct {
	mu      sync.Mutex
	last    uint64 // the newest millisecond
	entropy *ulid.MonotonicEntropy
}

func newIDs() *ids { return &ids{entropy: ulid.Monotonic(rand.Reader, 0)} }

func (i *ids) next() string {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.last = max(i.last, ulid.Now())
	id, err := ulid.New(i.last, i.entropy)
	if err != nil { // more than 2^80 ids in a millisecond
		i.entropy = ulid.Monotonic(rand.Reader, 0)
		i.last++
		id = ulid.MustNew(i.last, i.entropy)
	}
	return id.String()
}
