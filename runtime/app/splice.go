package app

import (
	"bytes"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"
)

// A spot is where an edit lands in the text: a block mapping and the lines that its entries may use.
type spot struct {
	m     *yaml.Node
	end   int // the line after the mapping's last, counted from 1
	lines []string
}

// splice applies one edit to the text; false means that lines alone cannot do it. The caller checks what the result means.
func splice(text []byte, e edit, value *yaml.Node) ([]byte, bool) {
	doc, problems := readDocument(text)
	if len(problems) > 0 {
		return nil, false
	}
	lines := strings.Split(strings.TrimRight(string(text), "\n"), "\n")
	top := doc.mapping()
	if top == nil || top.Kind != yaml.MappingNode || len(top.Content) == 0 {
		if e.remove || e.quiet {
			return text, true
		}
		added, ok := render(nest(e.path, value), 0)
		return joinLines(append(lines, added...)), ok
	}
	s := spot{m: top, end: len(lines) + 1, lines: lines}
	for depth, key := range e.path {
		if !block(s.m) {
			return nil, false
		}
		i := find(s.m, key)
		if i < 0 {
			return s.insert(text, e, nest(e.path[depth:], value))
		}
		inner := s.m.Content[i+1]
		last := depth == len(e.path)-1
		if last || !block(inner) {
			return s.replace(i, edit{path: e.path[depth:], remove: e.remove, quiet: e.quiet}, value)
		}
		if depth == len(e.path)-2 && e.remove && len(inner.Content) == 2 && find(inner, e.path[depth+1]) == 0 {
			empty := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map", Style: yaml.FlowStyle}
			return s.replace(i, edit{path: e.path[depth : depth+1]}, empty)
		}
		s = spot{m: inner, end: s.after(i), lines: lines}
	}
	return nil, false
}

// block says whether a node is a mapping with one entry a line.
func block(n *yaml.Node) bool {
	return n.Kind == yaml.MappingNode && n.Style&yaml.FlowStyle == 0 && n.Anchor == "" && len(n.Content) > 0
}

// after is the line behind everything that belongs to the entry at i.
func (s spot) after(i int) int {
	if i+2 < len(s.m.Content) {
		return s.m.Content[i+2].Line
	}
	return s.end
}

// lastLine is the last line of the entry at i without the comments and blank lines that follow it.
func (s spot) lastLine(i int) int {
	first, last := s.m.Content[i].Line, s.after(i)-1
	for last > first {
		if t := strings.TrimSpace(s.lines[last-1]); t != "" && t[0] != '#' {
			break
		}
		last--
	}
	return last
}

func (s spot) insert(text []byte, e edit, entry *yaml.Node) ([]byte, bool) {
	if e.remove || e.quiet {
		return text, true
	}
	added, ok := render(entry, s.m.Content[0].Column-1)
	at := s.lastLine(len(s.m.Content) - 2)
	return joinLines(slices.Insert(slices.Clone(s.lines), at, added...)), ok
}

// replace writes the entry at i again; e.path starts at its key.
func (s spot) replace(i int, e edit, value *yaml.Node) ([]byte, bool) {
	key, old := s.m.Content[i], s.m.Content[i+1]
	first, last := key.Line, s.lastLine(i)
	if len(e.path) == 1 && e.remove {
		return joinLines(slices.Delete(slices.Clone(s.lines), first-1, last)), true
	}
	if len(e.path) == 1 && old.Kind == yaml.ScalarNode && value.Kind == yaml.ScalarNode && old.Line == key.Line && first == last {
		if line, ok := swapScalar(s.lines[first-1], old, value); ok {
			out := slices.Clone(s.lines)
			out[first-1] = line
			return joinLines(out), true
		}
	}
	k, v := *key, *withoutAliases(old)
	k.HeadComment, k.FootComment = "", ""
	entry := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map", Content: []*yaml.Node{&k, &v}}
	setPath(entry, e, value)
	added, ok := render(entry, key.Column-1)
	return joinLines(slices.Replace(slices.Clone(s.lines), first-1, last, added...)), ok
}

// swapScalar puts a new value where an old one stands in a line, leaving what surrounds it.
func swapScalar(line string, old, value *yaml.Node) (string, bool) {
	runes := []rune(line)
	if old.Anchor != "" || old.Value == "" || old.Column < 1 || old.Column > len(runes) || old.Style&(yaml.LiteralStyle|yaml.FoldedStyle|yaml.TaggedStyle) != 0 {
		return "", false
	}
	before, rest := string(runes[:old.Column-1]), string(runes[old.Column-1:])
	var length int
	switch {
	case old.Style&yaml.DoubleQuotedStyle != 0:
		length = closing(rest, '"')
	case old.Style&yaml.SingleQuotedStyle != 0:
		length = closing(rest, '\'')
	default:
		if length = strings.Index(rest, " #"); length < 0 {
			length = len(rest)
		}
		length = len(strings.TrimRight(rest[:length], " \t"))
	}
	plain := *value
	plain.LineComment = ""
	text, err := dump(&plain)
	if err != nil || length < 0 || bytes.Count(text, []byte("\n")) != 1 {
		return "", false
	}
	return before + strings.TrimSuffix(string(text), "\n") + rest[length:], true
}

// closing is the length of a quoted text at the start of s, or -1.
func closing(s string, quote byte) int {
	for i := 1; i < len(s); i++ {
		switch {
		case s[i] == '\\' && quote == '"':
			i++
		case s[i] == quote && quote == '\'' && i+1 < len(s) && s[i+1] == quote:
			i++
		case s[i] == quote:
			return i + 1
		}
	}
	return -1
}

// render writes an entry as lines, indented.
func render(n *yaml.Node, indent int) ([]string, bool) {
	text, err := dump(n)
	if err != nil || indent < 0 {
		return nil, false
	}
	lines := strings.Split(strings.TrimRight(string(text), "\n"), "\n")
	for i, l := range lines {
		if l != "" {
			lines[i] = strings.Repeat(" ", indent) + l
		}
	}
	return lines, true
}

func joinLines(lines []string) []byte { return []byte(strings.Join(lines, "\n") + "\n") }
