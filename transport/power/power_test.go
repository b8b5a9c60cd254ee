package power

import (
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

// the variable fakes the reading; what it cannot mean fakes nothing.
func TestTheReadingCanBeFaked(t *testing.T) {
	dir := supplies(t, map[string]map[string]string{"BAT0": {"type": "Battery", "status": "Discharging", "capacity": "77"}})
	for value, want := range map[string]Reading{
		"ac": {false, Unknown}, "AC ": {false, Unknown}, "battery": {true, Unknown}, "0": {true, 0}, "15": {true, 15}, "100": {true, 100}, "40%": {true, 40},
	} {
		if got := (Reader{Getenv: func(string) string { return value }, Dir: dir}).Read(t.Context()); got != want {
			t.Errorf("%q: %+v, want %+v", value, got, want)
		}
	}
	if runtime.GOOS != "linux" {
		return
	}
	for _, value := range []string{"", "101", "-1", "plenty", "4 0", "0x10"} {
		if got := (Reader{Getenv: func(string) string { return value }, Dir: dir}).Read(t.Context()); got != (Reading{true, 77}) {
			t.Errorf("%q: %+v", value, got)
		}
	}
}

func supplies(t testing.TB, all map[string]map[string]string) string {
	dir := t.TempDir()
	for name, files := range all {
		if err := os.Mkdir(filepath.Join(dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
		for file, text := range files {
			if err := os.WriteFile(filepath.Join(dir, name, file), []byte(text+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	return dir
}

func TestLinux(t *testing.T) {
	battery := func(status, percent string, more ...string) map[string]string {
		m := map[string]string{"type": "Battery", "status": status, "capacity": percent, "present": "1"}
		for i := 0; i+1 < len(more); i += 2 {
			m[more[i]] = more[i+1]
		}
		return m
	}
	charger := func(kind, online string) map[string]string { return map[string]string{"type": kind, "online": online} }
	for name, c := range map[string]struct {
		all  map[string]map[string]string
		want Reading
	}{
		"a desktop":                       {nil, Reading{false, Unknown}},
		"a laptop on its battery":         {map[string]map[string]string{"AC": charger("Mains", "0"), "BAT0": battery("Discharging", "63")}, Reading{true, 63}},
		"a laptop that charges":           {map[string]map[string]string{"AC": charger("Mains", "1"), "BAT0": battery("Charging", "63")}, Reading{false, 63}},
		"full":                            {map[string]map[string]string{"AC": charger("Mains", "1"), "BAT0": battery("Full", "100")}, Reading{false, 100}},
		"a weak charger":                  {map[string]map[string]string{"usb": charger("USB", "1"), "BAT0": battery("Discharging", "20")}, Reading{false, 20}},
		"USB that can change its voltage": {map[string]map[string]string{"usb": charger("USB", "2"), "BAT0": battery("Discharging", "20")}, Reading{false, 20}},
		"no charger is listed":            {map[string]map[string]string{"BAT0": battery("Discharging", "9")}, Reading{true, 9}},
		"kept at a limit":                 {map[string]map[string]string{"AC": charger("Mains", "1"), "BAT0": battery("Not charging", "80")}, Reading{false, 80}},
		"a mouse is no laptop":            {map[string]map[string]string{"hid": battery("Discharging", "5", "scope", "Device")}, Reading{false, Unknown}},
		"level not said":                  {map[string]map[string]string{"BAT0": battery("Discharging", "")}, Reading{true, Unknown}},
		"nonsense":                        {map[string]map[string]string{"BAT0": battery("Discharging", "140")}, Reading{true, Unknown}},
		"taken out":                       {map[string]map[string]string{"BAT0": battery("Discharging", "50", "present", "0")}, Reading{false, Unknown}},
		"two batteries by size": {map[string]map[string]string{"BAT0": battery("Discharging", "10", "energy_full", "30000000"),
			"BAT1": battery("Unknown", "90", "energy_full", "10000000")}, Reading{true, 30}},
		"two batteries, sizes unknown": {map[string]map[string]string{"BAT0": battery("Discharging", "10"), "BAT1": battery("Unknown", "90", "energy_full", "5")}, Reading{true, 50}},
		"an uninterruptible supply":    {map[string]map[string]string{"ups": {"type": "UPS", "status": "Discharging", "capacity": "88"}}, Reading{true, 88}},
	} {
		if got := sum(readSupplies(supplies(t, c.all))); got != c.want {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
	if got := sum(readSupplies(filepath.Join(t.TempDir(), "none"))); got != mains {
		t.Errorf("no folder: %+v", got)
	}
}

var pmset = map[string]Reading{
	"Now drawing from 'Battery Power'\n -InternalBattery-0 (id=4653155)\t87%; discharging; 4:12 remaining present: true\n": {true, 87},
	"Now drawing from 'AC Power'\n -InternalBattery-0 (id=4653155)\t100%; charged; 0:00 remaining present: true\n":         {false, 100},
	"Now drawing from 'AC Power'\n": {false, Unknown},
	"Now drawing from 'Battery Power'\n -InternalBattery-0 (id=1)\t(no estimate)\n": {true, Unknown},
	"Now drawing from 'Battery Power'\n -InternalBattery-0 (id=1)\t900%\n":          {true, Unknown},
	"": {false, Unknown},
}

func TestMacOS(t *testing.T) {
	for out, want := range pmset {
		if got := parsePmset(out); got != want {
			t.Errorf("%q: %+v, want %+v", out, got, want)
		}
	}
}

func FuzzParsers(f *testing.F) {
	for out := range maps.Keys(pmset) {
		f.Add(out)
	}
	f.Add("15")
	f.Add("battery")
	f.Fuzz(func(t *testing.T, s string) {
		for _, r := range []Reading{parsePmset(s), func() Reading { r, _ := parseDebug(s); return r }()} {
			if r.Percent < Unknown || r.Percent > 100 {
				t.Fatalf("%q: %+v", s, r)
			}
		}
	})
}

func FuzzSupply(f *testing.F) {
	f.Add("Battery", "Discharging", "50", "1000", "1")
	f.Add("Battery", "", "-1", "9223372036854775807", "x")
	f.Fuzz(func(t *testing.T, kind, status, capacity, full, online string) {
		dir := supplies(t, map[string]map[string]string{"a": {"type": kind, "status": status, "capacity": capacity, "energy_full": full, "online": online},
			"b": {"type": "Battery", "capacity": "7", "charge_full": full}})
		if r := sum(readSupplies(dir)); r.Percent < Unknown || r.Percent > 100 {
			t.Fatalf("%+v", r)
		}
	})
}
