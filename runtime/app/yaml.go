package app

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"reflect"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"
)

const (
	maxFileBytes = 1 << 20 // of config.yaml
	maxFileNodes = 20_000  // values after aliases are followed, so that nested aliases cannot fill the memory
	maxFileDepth = 32
)

// A document is config.yaml as it was read: its nodes for editing, its values for decoding, and the line of each value.
type document struct {
	root  yaml.Node
	tree  map[string]any
	lines map[string]int // by path
}

// readDocument parses config.yaml. Anything that YAML allows and a configuration cannot mean is a fault with its line.
func readDocument(data []byte) (*document, []FieldError) {
	doc := &document{tree: map[string]any{}, lines: map[string]int{}}
	if len(data) > maxFileBytes {
		return doc, []FieldError{{Msg: "The file is larger than 1 MB. Make it smaller.", Type: "yaml_invalid"}}
	}
	dec := yaml.NewDecoder(bytes.NewReader(data))
	if err := dec.Decode(&doc.root); errors.Is(err, io.EOF) {
		return doc, nil
	} else if err != nil {
		return doc, []FieldError{yamlFault(err)}
	}
	var second yaml.Node
	if err := dec.Decode(&second); !errors.Is(err, io.EOF) {
		if err != nil {
			return doc, []FieldError{yamlFault(err)}
		}
		return doc, []FieldError{{Msg: "The file holds more than one YAML document. Keep one.", Type: "yaml_invalid", Line: second.Line}}
	}
	r := yamlReader{doc: doc}
	top := doc.mapping()
	switch v := r.value(top, nil, 0).(type) {
	case map[string]any:
		doc.tree = v
	case scalar:
		if v.value != nil {
			r.fail(top, nil, "The file must be a list of settings with their values, such as `chat:`.")
		}
	case []any:
		r.fail(top, nil, "The file must be a list of settings with their values, such as `chat:`.")
	}
	return doc, r.errs
}

// mapping is the node of the file's settings; nil when the file is empty.
func (d *document) mapping() *yaml.Node {
	if d.root.Kind == yaml.DocumentNode && len(d.root.Content) > 0 {
		return d.root.Content[0]
	}
	return nil
}

func yamlFault(err error) FieldError {
	fault := FieldError{Msg: "This is not valid YAML. Look at the indentation, the colons and the quotes near this line.", Type: "yaml_invalid"}
	var load *yaml.LoadError
	if errors.As(err, &load) {
		fault.Line = load.Mark.Line
		if load.Message != "" && len(load.Message) < 120 {
			fault.Msg = fmt.Sprintf("This is not valid YAML (%s). Look at the indentation, the colons and the quotes near this line.", load.Message)
		}
	}
	return fault
}

type yamlReader struct {
	doc   *document
	nodes int
	errs  []FieldError
}

func (r *yamlReader) fail(n *yaml.Node, loc []string, msg string) {
	line := 0
	if n != nil {
		line = n.Line
	}
	r.errs = append(r.errs, FieldError{Loc: append([]string{}, loc...), Msg: msg, Type: "yaml_invalid", Line: line})
}

// value turns a node into plain values: map[string]any, []any or scalar.
func (r *yamlReader) value(n *yaml.Node, loc []string, depth int) any {
	if n == nil {
		return scalar{}
	}
	if r.nodes++; r.nodes > maxFileNodes || depth > maxFileDepth {
		if len(r.errs) == 0 {
			r.fail(n, loc, "The file holds too much here. Make it simpler.")
		}
		return scalar{}
	}
	switch n.Kind {
	case yaml.AliasNode:
		return r.value(n.Alias, loc, depth+1)
	case yaml.MappingNode:
		return r.mapping(n, loc, depth)
	case yaml.SequenceNode:
		list := make([]any, 0, len(n.Content))
		for i, item := range n.Content {
			at := append(loc[:len(loc):len(loc)], strconv.Itoa(i))
			r.doc.lines[joinLoc(at)] = item.Line
			list = append(list, r.value(item, at, depth+1))
		}
		return list
	case yaml.ScalarNode:
		return readScalar(n)
	}
	return scalar{}
}

func (r *yamlReader) mapping(n *yaml.Node, loc []string, depth int) any {
	m := make(map[string]any, len(n.Content)/2)
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		if key.Kind != yaml.ScalarNode {
			r.fail(key, loc, "A setting's name must be plain text.")
			continue
		}
		at := append(loc[:len(loc):len(loc)], key.Value)
		_, twice := m[key.Value]
		switch {
		case twice:
			r.fail(key, at, "This stands here twice. Leave one of them out.")
		case key.Value == "<<":
			r.fail(key, at, "Merging with << is not understood here. Write the settings out.")
		}
		r.doc.lines[joinLoc(at)] = key.Line
		m[key.Value] = r.value(n.Content[i+1], at, depth+1)
	}
	return m
}

func readScalar(n *yaml.Node) scalar {
	s := scalar{text: n.Value}
	var v any
	if err := n.Decode(&v); err != nil {
		s.value = n.Value
		return s
	}
	switch v := v.(type) {
	case nil, bool, string:
		s.value = v
	case int, int64, uint64:
		s.value = json.Number(fmt.Sprint(v))
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			s.value = n.Value
		} else {
			s.value = json.Number(strconv.FormatFloat(v, 'g', -1, 64))
		}
	default: // dates and the like are text here
		s.value = n.Value
	}
	return s
}

// decode lays the document over the defaults. Faults carry their lines.
func (d *document) decode() (*Config, Report) {
	var report Report
	dec := decoder{unknown: &report.Unknown}
	cfg, errs := dec.onto(Default(), d.tree)
	for _, e := range errs {
		e.Line = d.line(e.Loc)
		report.Problems = append(report.Problems, e)
	}
	return cfg, report
}

// line is where a path stands, or its nearest parent.
func (d *document) line(loc []string) int {
	for n := len(loc); n > 0; n-- {
		if line, ok := d.lines[joinLoc(loc[:n])]; ok {
			return line
		}
	}
	return 0
}

// node writes a value as YAML. Of a struct only the fields that differ from base are written; base may be the zero Value.
func node(v, base reflect.Value) (*yaml.Node, error) {
	if v.Kind() != reflect.Struct {
		n := &yaml.Node{}
		err := n.Encode(v.Interface())
		return n, err
	}
	m := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
	for _, f := range fieldsOf(v.Type()) {
		fv, fb := v.FieldByIndex(f.Index), base.FieldByIndex(f.Index)
		if reflect.DeepEqual(fv.Interface(), fb.Interface()) {
			continue
		}
		n, err := node(fv, fb)
		if err != nil {
			return nil, err
		}
		m.Content = append(m.Content, keyNode(f.Name), n)
	}
	if len(m.Content) == 0 {
		m.Style = yaml.FlowStyle
	}
	return m, nil
}

func keyNode(name string) *yaml.Node {
	n := &yaml.Node{}
	n.SetString(name)
	if n.Kind == 0 || strings.ContainsAny(name, "\n\r") {
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: name, Style: yaml.DoubleQuotedStyle}
	}
	return n
}

// dump writes a node as text with an indent of two.
func dump(n *yaml.Node) ([]byte, error) {
	var out bytes.Buffer
	d, err := yaml.NewDumper(&out, yaml.WithIndent(2), yaml.WithLineWidth(-1), yaml.WithCompactSeqIndent(false))
	if err != nil {
		return nil, err
	}
	if err := errors.Join(d.Dump(n), d.Close()); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}
