package hardware

import (
	"context"
	"io"
	"io/fs"
	"math"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// textOf reads a small file of the system; "" when it cannot.
func (d *Detector) textOf(name string) string {
	f, err := d.o.Root.Open(name)
	if err != nil {
		return ""
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, 64<<10))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}

// linuxRAM is MemTotal of /proc/meminfo, which counts kibibytes.
func (d *Detector) linuxRAM() int64 {
	for line := range strings.Lines(d.textOf("proc/meminfo")) {
		if rest, ok := strings.CutPrefix(line, "MemTotal:"); ok {
			return times(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 1<<10)
		}
	}
	return 0
}

// times is a decimal number of units in bytes; 0 for what is no number or no possible amount.
func times(s string, unit int64) int64 {
	n, err := strconv.ParseInt(strings.TrimSpace(s), 10, 64)
	if err != nil || n <= 0 || n > math.MaxInt64/unit {
		return 0
	}
	return n * unit
}

// nvidia asks nvidia-smi, which counts mebibytes.
func (d *Detector) nvidia(ctx context.Context) []card {
	out, err := d.o.Run(ctx, "nvidia-smi", "--query-gpu=name,memory.total", "--format=csv,noheader,nounits")
	if err != nil {
		return nil
	}
	return parseNVIDIA(string(out))
}

func parseNVIDIA(out string) (cards []card) {
	for line := range strings.Lines(out) {
		cut := strings.LastIndexByte(line, ',')
		if cut < 0 {
			continue
		}
		memory, _, _ := strings.Cut(strings.TrimSpace(line[cut+1:]), " ")
		if name := cardName(line[:cut]); name != "" {
			cards = append(cards, card{name: name, vendor: "nvidia", vram: times(memory, 1<<20), own: true})
		}
	}
	return cards
}

// cardName is a name fit to be shown: printable, one line, not longer than any real one.
func cardName(s string) string {
	s = strings.Join(strings.FieldsFunc(strings.ToValidUTF8(s, ""), func(r rune) bool { return r <= ' ' || r == 0x7f }), " ")
	if r := []rune(s); len(r) > 120 {
		s = string(r[:120])
	}
	return s
}

var (
	cardFolder = regexp.MustCompile(`^card\d+$`)
	pciVendors = map[string]string{"0x10de": "nvidia", "0x1002": "amd", "0x8086": "intel"}
	plainNames = map[string]string{"nvidia": "NVIDIA graphics", "amd": "AMD graphics", "intel": "Intel graphics", "other": "Graphics"}
)

// drm lists the cards that the kernel knows. A NVIDIA card whose driver answered is not listed twice.
func (d *Detector) drm(nvidiaKnown bool) (cards []card) {
	entries, err := fs.ReadDir(d.o.Root, "sys/class/drm")
	if err != nil {
		return nil
	}
	for _, e := range entries {
		if !cardFolder.MatchString(e.Name()) {
			continue
		}
		dir := path.Join("sys/class/drm", e.Name(), "device")
		vendor := pciVendors[strings.ToLower(d.textOf(path.Join(dir, "vendor")))]
		if vendor == "" {
			continue // a virtual screen holds no model
		}
		if vendor == "nvidia" && nvidiaKnown {
			continue
		}
		c := card{name: cardName(d.textOf(path.Join(dir, "product_name"))), vendor: vendor}
		if c.name == "" {
			c.name = plainNames[vendor]
		}
		switch vendor {
		case "amd":
			c.vram = times(d.textOf(path.Join(dir, "mem_info_vram_total")), 1)
		case "intel": // only a card of its own has local memory
			c.vram = times(d.textOf(path.Join("sys/class/drm", e.Name(), "lmem_total_bytes")), 1)
			c.own = c.vram > 0
		}
		cards = append(cards, c)
	}
	return cards
}

// mac reads a Mac. On Apple silicon the graphics may use two thirds of the memory.
func (d *Detector) mac(ctx context.Context) (f found) {
	f.ram = times(d.sysctl(ctx, "hw.memsize"), 1)
	if d.o.Arch != "arm64" || f.ram == 0 {
		return f
	}
	name := cardName(d.sysctl(ctx, "machdep.cpu.brand_string"))
	if name == "" {
		name = "Apple silicon"
	}
	f.unified = true
	f.cards = []card{{name: name, vendor: "apple", vram: f.ram / 3 * 2, own: true}}
	return f
}

func (d *Detector) sysctl(ctx context.Context, name string) string {
	out, err := d.o.Run(ctx, "sysctl", "-n", name)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(out))
}

func (d *Detector) windowsRAM(ctx context.Context) int64 {
	out, err := d.o.Run(ctx, "powershell", "-NoProfile", "-NonInteractive", "-Command", "(Get-CimInstance Win32_ComputerSystem).TotalPhysicalMemory")
	if err != nil {
		return 0
	}
	return times(string(out), 1)
}

// displayClass is where Windows keeps its display adapters.
const displayClass = `HKLM\SYSTEM\CurrentControlSet\Control\Class\{4d36e968-e325-11ce-bfc1-08002be10318}`

func (d *Detector) registry(ctx context.Context, nvidiaKnown bool) []card {
	out, err := d.o.Run(ctx, "reg", "query", displayClass, "/s")
	if err != nil {
		return nil
	}
	return slices.DeleteFunc(parseRegistry(string(out)), func(c card) bool { return c.vendor == "nvidia" && nvidiaKnown })
}

// parseRegistry reads "reg query": a line with the key, then its values as "name  type  value".
func parseRegistry(out string) (cards []card) {
	var now card
	end := func() {
		if now.name != "" {
			now.vendor = vendorOf(now.name)
			now.own = now.vendor == "intel" && strings.Contains(strings.ToLower(now.name), "arc")
			cards = append(cards, now)
		}
		now = card{}
	}
	for line := range strings.Lines(out) {
		if strings.HasPrefix(line, "HKEY_") {
			end()
			continue
		}
		name, kind, value := registryValue(line)
		switch {
		case name == "DriverDesc" && kind == "REG_SZ":
			now.name = cardName(value)
		case name == "HardwareInformation.qwMemorySize" && kind == "REG_QWORD":
			if n, err := strconv.ParseInt(strings.TrimPrefix(value, "0x"), 16, 64); err == nil {
				now.vram = n
			}
		}
	}
	end()
	return cards
}

func registryValue(line string) (name, kind, value string) {
	parts := strings.SplitN(strings.TrimSpace(line), "    ", 3)
	if len(parts) != 3 {
		return "", "", ""
	}
	return parts[0], strings.TrimSpace(parts[1]), strings.TrimSpace(parts[2])
}

func vendorOf(name string) string {
	n := strings.ToLower(name)
	switch {
	case strings.Contains(n, "nvidia"), strings.Contains(n, "geforce"):
		return "nvidia"
	case strings.Contains(n, "amd"), strings.Contains(n, "radeon"):
		return "amd"
	case strings.Contains(n, "intel"):
		return "intel"
	}
	return "other"
}
