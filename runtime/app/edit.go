package app

import (
	"bytes"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"
)

// rewrite applies edits to config.yaml. It changes only the lines that it must, so that comments, order, blank lines and unknown keys
// stay as the person wrote them. Where lines cannot be changed that simply (flow style, aliases), the whole file is written again from
// its nodes, which keeps comments and order but not blank lines. Both ways must mean the same or the second is taken.
func rewrite(data []byte, edits []edit) ([]byte, *Config, Report, error) {
	whole, err := rewriteNodes(data, edits)
	if err != nil {
		return nil, nil, Report{}, err
	}
	cfg, report := decodeYAML(whole)
	if len(report.Problems) > 0 {
		return nil, nil, report, nil
	}
	if lines, ok := rewriteLines(data, edits); ok {
		if same, r := decodeYAML(lines); len(r.Problems) == 0 && reflect.DeepEqual(same, cfg) && slices.Equal(r.Unknown, report.Unknown) {
			return lines, cfg, report, nil
		}
	}
	return whole, cfg, report, nil
}

func decodeYAML(data []byte) (*Config, Report) {
	doc, problems := readDocument(data)
	if len(problems) > 0 {
		return nil, Report{Problems: problems}
	}
	return doc.decode()
}

func rewriteNodes(data []byte, edits []edit) ([]byte, error) {
	doc, _ := readDocument(data)
	if doc.mapping() == nil || doc.mapping().Kind != yaml.MappingNode {
		doc.root = yaml.Node{Kind: yaml.DocumentNode, Content: []*yaml.Node{{Kind: yaml.MappingNode, Tag: "!!map"}}, HeadComment: doc.root.HeadComment}
	}
	top := withoutAliases(doc.mapping())
	doc.root.Content[0] = top
	for _, e := range edits {
		value, err := e.node()
		if err != nil {
			return nil, err
		}
		setPath(top, e, value)
	}
	return dump(&doc.root)
}

func (e edit) node() (*yaml.Node, error) {
	if !e.value.IsValid() {
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!null", Value: "null"}, nil
	}
	return node(e.value, e.base)
}

// withoutAliases writes aliases out when there are any, so that no edit can take away what another place refers to.
func withoutAliases(n *yaml.Node) *yaml.Node {
	if !hasAlias(n) {
		return n
	}
	return expand(n, 0)
}

func hasAlias(n *yaml.Node) bool {
	return n.Kind == yaml.AliasNode || slices.ContainsFunc(n.Content, hasAlias)
}

func expand(n *yaml.Node, depth int) *yaml.Node {
	if n.Kind == yaml.AliasNode && n.Alias != nil && depth <= maxFileDepth {
		return expand(n.Alias, depth+1)
	}
	c := *n
	c.Anchor, c.Content = "", nil
	for _, child := range n.Content {
		c.Content = append(c.Content, expand(child, depth+1))
	}
	return &c
}

// find is the index of a key in a mapping node, or -1.
func find(m *yaml.Node, key string) int {
	for i := 0; i+1 < len(m.Content); i += 2 {
		if m.Content[i].Kind == yaml.ScalarNode && sameKey(m.Content[i].Value, key) {
			return i
		}
	}
	return -1
}

// sameKey: names of rules are trimmed when they are read, so " gmail" in the file is gmail.
func sameKey(written, key string) bool { return written == key || strings.TrimSpace(written) == key }

// setPath changes nodes in place.
func setPath(m *yaml.Node, e edit, value *yaml.Node) {
	for depth, key := range e.path {
		i, last := find(m, key), depth == len(e.path)-1
		switch {
		case i < 0 && (e.remove || e.quiet):
			return
		case i < 0:
			openUp(m)
			m.Content = append(m.Content, keyNode(key), nest(e.path[depth+1:], value))
			return
		case last && e.remove:
			m.Content = slices.Delete(m.Content, i, i+2)
			return
		case last:
			value.LineComment = m.Content[i+1].LineComment
			m.Content[i+1] = value
			return
		case m.Content[i+1].Kind != yaml.MappingNode:
			if e.remove || e.quiet {
				return
			}
			m.Content[i+1] = nest(e.path[depth+1:], value)
			return
		}
		m = m.Content[i+1]
	}
}

// openUp makes an empty {} ready for entries on lines of their own; a comment behind it moves in front of them.
func openUp(m *yaml.Node) {
	if len(m.Content) == 0 {
		m.Style &^= yaml.FlowStyle
		m.HeadComment, m.LineComment = m.LineComment, ""
	}
}

// nest wraps a value in one mapping per name of the path.
func nest(path []string, value *yaml.Node) *yaml.Node {
	for _, key := range slices.Backward(path) {
		value = &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map", Content: []*yaml.Node{keyNode(key), value}}
	}
	return value
}

// rewriteLines applies edits line by line.
func rewriteLines(data []byte, edits []edit) ([]byte, bool) {
	crlf := bytes.Contains(data, []byte("\r\n"))
	text := bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n"))
	for _, e := range edits {
		value, err := e.node()
		if err != nil {
			return nil, false
		}
		var ok bool
		if text, ok = splice(text, e, value); !ok {
			return nil, false
		}
	}
	if crlf {
		text = bytes.ReplaceAll(text, []byte("\n"), []byte("\r\n"))
	}
	return text, true
}
