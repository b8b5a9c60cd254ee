package edge

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"unicode/utf8"
)

var errJSON = refuse(400, "The request is not readable: send one JSON object.")

// object is a decoded JSON object whose members are read one by one with the type each must have. The first wrong one
// stays in err, a sentence that names it. Unknown members are ignored; null counts as absent, except for member.
type object struct {
	fields map[string]json.RawMessage
	err    error
}

// decodeObject reads exactly one JSON object of valid UTF-8.
func decodeObject(b []byte) (*object, error) {
	if !utf8.Valid(b) {
		return nil, refuse(422, "The request is not valid text (UTF-8).")
	}
	dec := json.NewDecoder(bytes.NewReader(b))
	o := &object{}
	if err := dec.Decode(&o.fields); err != nil {
		var wrong *json.UnmarshalTypeError
		if errors.As(err, &wrong) {
			return nil, refuse(422, "The request must be a JSON object.")
		}
		return nil, errJSON
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, errJSON
	}
	return o, nil
}

func (o *object) wrong(name, what string) {
	if o.err == nil {
		o.err = refuse(422, name+" "+what+".")
	}
}

// member is a field's value; null is true when it was sent as null, sent false when it was not sent at all.
func (o *object) member(name string) (v json.RawMessage, null, sent bool) {
	v, sent = o.fields[name]
	return v, sent && string(v) == "null", sent
}

func (o *object) read(name, what string, into any) bool {
	v, null, sent := o.member(name)
	if !sent || null {
		return false
	}
	if json.Unmarshal(v, into) != nil {
		o.wrong(name, "must be "+what)
		return false
	}
	return true
}

// text is a free text; NUL is refused, for no store or terminal keeps it whole.
func (o *object) text(name string) string {
	var s string
	if o.read(name, "text", &s) && strings.ContainsRune(s, 0) {
		o.wrong(name, "has a NUL character")
	}
	return s
}

// id is an identifier: short and without control characters.
func (o *object) id(name string) string {
	var s string
	if o.read(name, "text", &s) && !validID(s) {
		o.wrong(name, "is not an id")
	}
	return s
}

const maxID = 256 // bytes

func validID(s string) bool {
	return len(s) <= maxID && utf8.ValidString(s) && !strings.ContainsFunc(s, control)
}

func validText(s string) bool { return utf8.ValidString(s) && !strings.ContainsRune(s, 0) }

func (o *object) flag(name string) bool {
	var b bool
	o.read(name, "true or false", &b)
	return b
}

const maxAttachments = 64

func (o *object) names(name string) []string {
	var list []string
	if !o.read(name, "a list of file names", &list) {
		return nil
	}
	if len(list) > maxAttachments {
		o.wrong(name, "has too many entries")
	}
	for _, s := range list {
		if s == "" || len(s) > 2048 || strings.ContainsFunc(s, control) {
			o.wrong(name, "has an entry that is not a file name")
		}
	}
	return list
}

// maybe is a text whose null means something: nil when it was not sent, "" for null.
func (o *object) maybe(name string) *string {
	_, null, sent := o.member(name)
	if !sent {
		return nil
	}
	s := ""
	if !null {
		s = o.text(name)
	}
	return &s
}

// validModel says whether s is "provider/model".
func validModel(s string) bool {
	provider, model, ok := strings.Cut(s, "/")
	return ok && provider != "" && model != "" && len(s) <= 512 && !strings.ContainsFunc(s, func(r rune) bool { return control(r) || r == ' ' })
}
