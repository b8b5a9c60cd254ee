package hardware

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"

	"sentient/actors/msg"
)

func tree(files map[string]string) fstest.MapFS {
	m := fstest.MapFS{}
	for name, text := range files {
		m[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return m
}

// programs answers by the program's name.
func programs(out map[string]string) func(context.Context, string, ...string) ([]byte, error) {
	return func(_ context.Context, name string, args ...string) ([]byte, error) {
		for _, key := range []string{name + " " + strings.Join(args, " "), name} {
			if s, ok := out[key]; ok {
				return []byte(s), nil
			}
		}
		return nil, errors.New("not installed")
	}
}

const ram16 = "MemTotal:       16043212 kB\nMemFree:          301404 kB\n"

func amounts(h msg.Hardware) string {
	b, _ := json.Marshal([]any{h.RAMGB, h.UsableVRAMGB, h.OllamaVRAMGB, h.UnifiedMemory, h.GPUs})
	return string(b)
}

// what each kind of computer is found to be.
func TestComputers(t *testing.T) {
	for name, c := range map[string]struct {
		o       Options
		amounts string
		summary string
		tier    string
		runsOn  string
		os      string
	}{
		"NVIDIA laptop beside built-in Intel": {
			o: Options{OS: "linux", Root: tree(map[string]string{"proc/meminfo": ram16,
				"sys/class/drm/card0/device/vendor": "0x8086\n", "sys/class/drm/card1/device/vendor": "0x10de\n", "sys/class/drm/card0-HDMI-A-1/device/vendor": "0x1002\n",
				"sys/class/drm/renderD128/device/vendor": "0x1002\n"}),
				Run: programs(map[string]string{"nvidia-smi": "NVIDIA GeForce RTX 4060 Laptop GPU, 8188\n"})},
			amounts: `[15.3,8,null,false,[{"name":"NVIDIA GeForce RTX 4060 Laptop GPU","vendor":"nvidia","vram_gb":8,"usable":true},{"name":"Intel graphics","vendor":"intel","vram_gb":null,"usable":false}]]`,
			summary: "NVIDIA GeForce RTX 4060 Laptop GPU with 8 GB of graphics memory, 15.3 GB of memory", tier: "gpu_8", runsOn: "graphics", os: "linux"},
		"AMD card and a small AMD chip": {
			o: Options{OS: "linux", Root: tree(map[string]string{"proc/meminfo": ram16,
				"sys/class/drm/card0/device/vendor": "0x1002", "sys/class/drm/card0/device/mem_info_vram_total": "536870912",
				"sys/class/drm/card1/device/vendor": "0x1002", "sys/class/drm/card1/device/mem_info_vram_total": "17163091968", "sys/class/drm/card1/device/product_name": "Radeon RX 7800 XT\n"})},
			amounts: `[15.3,16,null,false,[{"name":"AMD graphics","vendor":"amd","vram_gb":0.5,"usable":false},{"name":"Radeon RX 7800 XT","vendor":"amd","vram_gb":16,"usable":true}]]`,
			summary: "Radeon RX 7800 XT with 16 GB of graphics memory, 15.3 GB of memory", tier: "gpu_16", runsOn: "graphics", os: "linux"},
		"two cards: the larger counts": {
			o: Options{OS: "linux", Root: tree(map[string]string{"proc/meminfo": ram16}),
				Run: programs(map[string]string{"nvidia-smi": "NVIDIA A, with a comma, 8192\nNVIDIA B, 24564\nbroken line\nNVIDIA C, [N/A]\n"})},
			amounts: `[15.3,24,null,false,[{"name":"NVIDIA A, with a comma","vendor":"nvidia","vram_gb":8,"usable":true},{"name":"NVIDIA B","vendor":"nvidia","vram_gb":24,"usable":true},{"name":"NVIDIA C","vendor":"nvidia","vram_gb":null,"usable":false}]]`,
			summary: "NVIDIA B with 24 GB of graphics memory, 15.3 GB of memory", tier: "gpu_24", runsOn: "graphics", os: "linux"},
		"no card, Ollama shows one": {
			o: Options{OS: "linux", Root: tree(map[string]string{"proc/meminfo": ram16}), Loaded: func(context.Context) ([]msg.LoadedModel, error) {
				return []msg.LoadedModel{{SizeVRAM: 9 << 30}, {SizeVRAM: 3 << 30}}, nil
			}},
			amounts: `[15.3,null,12,false,[]]`, summary: "a graphics card with at least 12 GB of memory, 15.3 GB of memory", tier: "gpu_12", runsOn: "graphics", os: "linux"},
		"memory only": {o: Options{OS: "linux", Root: tree(map[string]string{"proc/meminfo": ram16}),
			Loaded: func(context.Context) ([]msg.LoadedModel, error) { return nil, errors.New("not running") }},
			amounts: `[15.3,null,null,false,[]]`, summary: "15.3 GB of memory", tier: "ram_8", runsOn: "processor", os: "linux"},
		"Apple silicon": {o: Options{OS: "darwin", Arch: "arm64", Root: tree(nil), Run: programs(map[string]string{"sysctl -n hw.memsize": "25769803776\n", "sysctl -n machdep.cpu.brand_string": "Apple M4 Pro\n"})},
			amounts: `[24,16,null,true,[{"name":"Apple M4 Pro","vendor":"apple","vram_gb":16,"usable":true}]]`,
			summary: "Apple M4 Pro with 16 GB for graphics, 24 GB of memory", tier: "gpu_16", runsOn: "graphics", os: "macos"},
		"Windows": {o: Options{OS: "windows", Root: tree(nil), Run: programs(map[string]string{"powershell": "34201366528\r\n", "reg": "\r\nHKEY_LOCAL_MACHINE\\X\\0000\r\n" +
			"    DriverDesc    REG_SZ    AMD Radeon RX 6700 XT\r\n    HardwareInformation.qwMemorySize    REG_QWORD    0x2ff000000\r\nHKEY_LOCAL_MACHINE\\X\\0001\r\n    DriverDesc    REG_SZ    Intel(R) UHD Graphics 770\r\n    HardwareInformation.qwMemorySize    REG_QWORD    0x100000000\r\n"})},
			amounts: `[31.9,12,null,false,[{"name":"AMD Radeon RX 6700 XT","vendor":"amd","vram_gb":12,"usable":true},{"name":"Intel(R) UHD Graphics 770","vendor":"intel","vram_gb":4,"usable":false}]]`,
			summary: "AMD Radeon RX 6700 XT with 12 GB of graphics memory, 31.9 GB of memory", tier: "gpu_12", runsOn: "graphics", os: "windows"},
		"nothing can be read": {o: Options{OS: "linux", Root: tree(map[string]string{"proc/meminfo": "MemTotal: much kB\n", "sys/class/drm": "not a folder"})},
			amounts: `[null,null,null,false,[]]`, summary: "unknown", tier: "unknown", runsOn: "unknown", os: "linux"},
	} {
		t.Run(name, func(t *testing.T) {
			h := New(c.o).Get(t.Context(), false)
			if got := amounts(h); got != c.amounts {
				t.Errorf("got  %s\nwant %s", got, c.amounts)
			}
			if h.Summary != c.summary || h.OS != c.os || h.Recommendation.Tier != c.tier || h.Recommendation.RunsOn != c.runsOn || h.Recommendation.Note == "" {
				t.Errorf("%q, %q, %+v", h.OS, h.Summary, h.Recommendation)
			}
		})
	}
}

// every row of the table, and both sides of its threshold.
func TestRecommend(t *testing.T) {
	gb := func(v float64) *float64 { return &v }
	for _, c := range []struct {
		vram, ram *float64
		tier      string
		name      string
		context   int
	}{
		{gb(80), gb(64), "gpu_24", "qwen3:30b", 16384}, {gb(22), nil, "gpu_24", "qwen3:30b", 16384}, {gb(21.9), nil, "gpu_16", "qwen3:14b", 16384},
		{gb(15), gb(16), "gpu_16", "qwen3:14b", 16384}, {gb(14.9), gb(16), "gpu_12", "qwen3:8b", 16384}, {gb(11), gb(16), "gpu_12", "qwen3:8b", 16384},
		{gb(10.9), gb(16), "gpu_8", "qwen3:8b", 8192}, {gb(7), gb(4), "gpu_8", "qwen3:8b", 8192}, {gb(6.9), gb(16), "ram_8", "qwen3:8b", 8192},
		{nil, gb(7), "ram_8", "qwen3:8b", 8192}, {nil, gb(6.9), "small", "qwen3:4b", 8192}, {gb(4), nil, "small", "qwen3:4b", 8192}, {nil, nil, "unknown", "qwen3:8b", 8192},
	} {
		r := Recommend(c.vram, c.ram)
		if r.Tier != c.tier || r.Name != c.name || r.Model != "ollama_chat/"+c.name || r.ContextLength != c.context {
			t.Errorf("%v %v: %+v", c.vram, c.ram, r)
		}
		if small := c.tier == "small"; r.CloudFirst != small || (r.MultilingualEmbedding == nil) != small {
			t.Errorf("%s: cloud first %v, multilingual %v", c.tier, r.CloudFirst, r.MultilingualEmbedding)
		}
		if r.CloudFirst && !strings.Contains(r.Summary+r.Note, "plain chat") {
			t.Errorf("the small model is not labelled: %q %q", r.Summary, r.Note)
		}
	}
	r := Recommend(gb(8), gb(16))
	if r.Summary != "qwen3:8b, reading 8,192 tokens at a time" || r.Note != "Fits on the graphics card, so replies stay quick." {
		t.Errorf("%q %q", r.Summary, r.Note)
	}
	if m := r.MultilingualEmbedding; m.Model != "ollama/bge-m3" || m.Size != "1.2 GB" || !strings.HasPrefix(m.Note, "If you write to Sentient in Hindi or another language") {
		t.Errorf("%+v", m)
	}
}

// one look however many ask, again only with refresh; a program that hangs costs the bound and no more.
func TestRememberedAndBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var looks atomic.Int32
		d := New(Options{OS: "linux", Root: tree(map[string]string{"proc/meminfo": ram16}), Within: 10 * time.Second,
			Run: func(ctx context.Context, _ string, _ ...string) ([]byte, error) {
				looks.Add(1)
				<-ctx.Done()
				return nil, ctx.Err()
			}})
		began := time.Now()
		done := make(chan msg.Hardware)
		for range 5 {
			go func() { done <- d.Get(t.Context(), false) }()
		}
		for range 5 {
			if h := <-done; h.RAMGB == nil || h.Recommendation.Tier != "ram_8" {
				t.Errorf("%+v", h)
			}
		}
		if looks.Load() != 1 || time.Since(began) != 10*time.Second {
			t.Errorf("%d looks in %v", looks.Load(), time.Since(began))
		}
		if d.Get(t.Context(), true); looks.Load() != 2 {
			t.Errorf("refresh made %d looks", looks.Load())
		}
	})
}

// A caller that goes away gets an answer, and what it was told is not what others get.
func TestACutLookIsNotRemembered(t *testing.T) {
	var looks int
	d := New(Options{OS: "linux", Root: tree(map[string]string{"proc/meminfo": ram16}), Run: func(ctx context.Context, _ string, _ ...string) ([]byte, error) {
		looks++
		return nil, ctx.Err()
	}})
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	d.Get(gone, false)
	if h := d.Get(t.Context(), false); h.RAMGB == nil || looks == 0 {
		t.Errorf("%+v after %d looks", h, looks)
	}
}

func FuzzPrograms(f *testing.F) {
	f.Add("NVIDIA A, 8192\n", "HKEY_X\n    DriverDesc    REG_SZ    A\n    HardwareInformation.qwMemorySize    REG_QWORD    0xffffffffffffffff\n")
	f.Add(",", "    DriverDesc    REG_SZ    \xff\n")
	f.Fuzz(func(t *testing.T, smi, reg string) {
		for _, c := range append(parseNVIDIA(smi), parseRegistry(reg)...) {
			if c.name == "" || len(c.name) > 600 || c.vram < 0 {
				t.Fatalf("%+v", c)
			}
		}
	})
}
