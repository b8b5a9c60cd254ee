// Package hardware owns the look at this computer: how much memory and which graphics cards it has, and which local model fits.
//
// Detection never fails: what cannot be read is nil, and the recommendation then rests on what could be.
package hardware

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"runtime"
	"strings"
	"sync"
	"time"

	"sentient/actors/msg"
)

// Options say where to look. The zero value looks at this computer and runs no program.
type Options struct {
	OS   string // as runtime.GOOS; "" is this computer's
	Arch string // as runtime.GOARCH; "" is this computer's
	Root fs.FS  // the system's files (proc, sys); nil: this computer's
	// Run runs a program and gives what it printed; nil runs none. The context bounds it.
	Run func(ctx context.Context, program string, args ...string) ([]byte, error)
	// Loaded lists the models that the Ollama of this computer holds in memory; nil, or an error: nothing is known of them.
	Loaded func(ctx context.Context) ([]msg.LoadedModel, error)
	Within time.Duration // for all of a detection; 0: 10 s
}

// Detector looks once and remembers. It is safe for concurrent use.
type Detector struct {
	o    Options
	turn chan struct{} // one detection at a time

	mu    sync.Mutex
	known *msg.Hardware
}

// New makes a Detector; nothing is looked at yet.
func New(o Options) *Detector {
	if o.OS == "" {
		o.OS = runtime.GOOS
	}
	if o.Arch == "" {
		o.Arch = runtime.GOARCH
	}
	if o.Root == nil {
		o.Root = os.DirFS("/")
	}
	if o.Run == nil {
		o.Run = func(context.Context, string, ...string) ([]byte, error) {
			return nil, errors.New("no program may be run")
		}
	}
	if o.Within <= 0 {
		o.Within = 10 * time.Second
	}
	return &Detector{o: o, turn: make(chan struct{}, 1)}
}

// Get is what this computer has, from memory unless refresh asks for a new look. When ctx ends first it is what could be
// read until then, which is not remembered.
func (d *Detector) Get(ctx context.Context, refresh bool) msg.Hardware {
	if h, ok := d.remembered(); ok && !refresh {
		return h
	}
	select {
	case d.turn <- struct{}{}:
		defer func() { <-d.turn }()
	case <-ctx.Done():
		return finish(found{}, d.o.OS)
	}
	if h, ok := d.remembered(); ok && !refresh {
		return h
	}
	bound, cancel := context.WithTimeout(ctx, d.o.Within)
	defer cancel()
	h := finish(d.look(bound), d.o.OS)
	if ctx.Err() == nil {
		d.mu.Lock()
		d.known = &h
		d.mu.Unlock()
	}
	return h
}

func (d *Detector) remembered() (msg.Hardware, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.known == nil {
		return msg.Hardware{}, false
	}
	return *d.known, true
}

// found is what a look came to, in bytes.
type found struct {
	ram     int64
	unified bool
	cards   []card
	loaded  int64 // bytes on the graphics card that Ollama's models use
}

type card struct {
	name   string
	vendor string
	vram   int64 // 0: not known
	own    bool  // Intel only: a card of its own, not a part of the processor
}

func (d *Detector) look(ctx context.Context) found {
	var f found
	switch d.o.OS {
	case "linux":
		f.ram = d.linuxRAM()
		f.cards = d.nvidia(ctx)
		f.cards = append(f.cards, d.drm(len(f.cards) > 0)...)
	case "darwin":
		f = d.mac(ctx)
	case "windows":
		f.ram = d.windowsRAM(ctx)
		f.cards = d.nvidia(ctx)
		f.cards = append(f.cards, d.registry(ctx, len(f.cards) > 0)...)
	}
	if d.o.Loaded != nil {
		if models, err := d.o.Loaded(ctx); err == nil {
			for _, m := range models {
				f.loaded += max(0, m.SizeVRAM)
			}
		}
	}
	return f
}

const smallest = 2 << 30 // an AMD chip with less memory of its own is built in

// usable says whether a card can hold a model.
func (c card) usable() bool {
	switch {
	case c.vram <= 0:
		return false
	case c.vendor == "intel":
		return c.own
	}
	return c.vram >= smallest
}

func finish(f found, goos string) msg.Hardware {
	h := msg.Hardware{OS: osName(goos), RAMGB: gib(f.ram), UnifiedMemory: f.unified, OllamaVRAMGB: gib(f.loaded), GPUs: []msg.GPU{}}
	var best *card
	for i, c := range f.cards {
		h.GPUs = append(h.GPUs, msg.GPU{Name: c.name, Vendor: c.vendor, VRAMGB: gib(c.vram), Usable: c.usable()})
		if c.usable() && (best == nil || c.vram > best.vram) {
			best = &f.cards[i]
		}
	}
	vram := h.OllamaVRAMGB // a lower bound: whatever card it is, Ollama uses that much of it
	if best != nil {
		h.UsableVRAMGB = gib(best.vram)
		vram = h.UsableVRAMGB
	}
	h.Summary = summary(h, best)
	h.Recommendation = Recommend(vram, h.RAMGB)
	return h
}

func summary(h msg.Hardware, best *card) string {
	var parts []string
	switch {
	case best != nil && h.UnifiedMemory:
		parts = append(parts, fmt.Sprintf("%s with %s GB for graphics", best.name, amount(*h.UsableVRAMGB)))
	case best != nil:
		parts = append(parts, fmt.Sprintf("%s with %s GB of graphics memory", best.name, amount(*h.UsableVRAMGB)))
	case h.OllamaVRAMGB != nil:
		parts = append(parts, fmt.Sprintf("a graphics card with at least %s GB of memory", amount(*h.OllamaVRAMGB)))
	}
	if h.RAMGB != nil {
		parts = append(parts, amount(*h.RAMGB)+" GB of memory")
	}
	if len(parts) == 0 {
		return "unknown"
	}
	return strings.Join(parts, ", ")
}

func amount(gb float64) string { return strings.TrimSuffix(fmt.Sprintf("%.1f", gb), ".0") }

// gib is bytes as GiB with one decimal; nil for what is not known.
func gib(bytes int64) *float64 {
	if bytes <= 0 {
		return nil
	}
	v := math.Round(float64(bytes)/(1<<30)*10) / 10
	return &v
}

func osName(goos string) string {
	if goos == "darwin" {
		return "macos"
	}
	return goos
}
