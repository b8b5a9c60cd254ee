package app

import (
	"encoding/json"
	"reflect"
	"testing"

	"pgregory.net/rapid"
)

// Whatever a patch says: the old configuration stays, and an accepted one is valid, tidy and survives a round trip.
func FuzzMerge(f *testing.F) {
	for _, s := range []string{`{}`, `{"assistant":{"name":"x"}}`, `{"models":{"providers":{"xai":null}}}`, `{"tools":{"approvals":{"rules":{" a ":"NEVER"}}}}`,
		`{"gateway":{"port":1e3}}`, `{"browser":{"profiles":{"a":{"kind":"attach","endpoint":"1"}}}}`, `{"models":{"presets":{"m":{"roles":{"planner":null}}}}}`, `[[[`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, patch []byte) {
		base := Default()
		next, errs := Merge(base, patch)
		if !reflect.DeepEqual(base, Default()) {
			t.Fatal("the old configuration was changed")
		}
		if (next == nil) != (len(errs) > 0) {
			t.Fatal("neither or both")
		}
		if next == nil {
			return
		}
		data, err := next.JSON()
		if err != nil {
			t.Fatal(err)
		}
		back, errs := Replace(data)
		if len(errs) > 0 || !reflect.DeepEqual(back, next) {
			t.Fatalf("%s does not survive a round trip: %v", data, errs)
		}
	})
}

// Patching twice with the same patch is patching once.
func TestMergeIsIdempotent(t *testing.T) {
	patches := []string{`{"assistant":{"name":"Nova"}}`, `{"models":{"providers":{"xai":null,"mine":{"api_base":"https://x.org"}}}}`,
		`{"tools":{"approvals":{"rules":{" a ":"ASK"}}}}`, `{"models":{"presets":{"p":{"fallbacks":{"fast":["a/b"]}}}}}`, `{"models":{"presets":{"p":null}}}`,
		`{"tasks":{"email":{"allowed_senders":["B@x.y;c@d.e"]}}}`, `{"models":{"roles":{"planner":"a/b"}}}`, `{"models":{"roles":{"planner":null}}}`}
	rapid.Check(t, func(t *rapid.T) {
		c := Default()
		for _, p := range rapid.SliceOfN(rapid.SampledFrom(patches), 0, 6).Draw(t, "patches") {
			next, errs := Merge(c, json.RawMessage(p))
			if len(errs) > 0 {
				t.Fatal(errs)
			}
			if again, _ := Merge(next, json.RawMessage(p)); !reflect.DeepEqual(next, again) {
				t.Fatalf("%s twice differs", p)
			}
			c = next
		}
	})
}
