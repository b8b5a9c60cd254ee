package tool

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"unicode/utf8"
)

// ArgumentsError is the result a model reads when it called a tool wrongly, so that it can try again.
type ArgumentsError struct {
	Message string          `json:"error"`
	Schema  json.RawMessage `json:"schema"`
}

func (e *ArgumentsError) Error() string { return e.Message }

// Decode reads and checks the arguments a model wrote for this tool: one JSON object that fits the tool's schema. Defaults
// are filled in. Numbers are float64 as encoding/json makes them. Empty text means no arguments.
func (e Entry) Decode(arguments string) (map[string]any, *ArgumentsError) {
	args, err := decodeObject(arguments)
	if err != nil {
		return nil, e.invalid(err.Error())
	}
	return e.Check(args)
}

// Check is Decode for arguments that are decoded already. It changes args.
func (e Entry) Check(args map[string]any) (map[string]any, *ArgumentsError) {
	s := e.schema()
	if args == nil {
		args = map[string]any{}
	}
	c := newChecker(s)
	c.value(s, args, "", 0)
	if len(c.problems) > 0 {
		return nil, e.invalid(strings.Join(c.problems, "; "))
	}
	return args, nil
}

func (e Entry) invalid(why string) *ArgumentsError {
	return &ArgumentsError{Message: "Invalid arguments for " + e.Tool.Name + ": " + why, Schema: parameters(*e.Tool)}
}

func decodeObject(text string) (map[string]any, error) {
	if strings.TrimSpace(text) == "" {
		return map[string]any{}, nil
	}
	if !utf8.ValidString(text) {
		return nil, errors.New("they are not valid text (UTF-8)")
	}
	dec := json.NewDecoder(strings.NewReader(text))
	var v any
	if err := dec.Decode(&v); err != nil {
		return nil, errors.New("they are not valid JSON")
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("there is something after the JSON object")
	}
	switch args := v.(type) {
	case map[string]any:
		return args, nil
	case nil:
		return map[string]any{}, nil
	}
	return nil, errors.New("they must be one JSON object")
}

// CompactJSON is v as a model reads it: JSON without spaces, with < > & as they are. What cannot be JSON gives "null".
func CompactJSON(v any) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return "null"
	}
	return strings.TrimSuffix(b.String(), "\n")
}
