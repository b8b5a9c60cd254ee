package app

import (
	"encoding/json"
	"reflect"
	"strings"
	"sync"
)

// Schema is the JSON Schema (draft 2020-12) of the configuration; every field has a title, a description and its default, and
// x-restart is true where a change takes effect at the next start only. It is made when it is first asked for.
func Schema() json.RawMessage { return schemaOnce() }

var schemaOnce = sync.OnceValue(func() json.RawMessage {
	s := objectSchema(reflect.ValueOf(Default()).Elem())
	s["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	s["title"] = "Sentient settings"
	s["description"] = "Everything a person can set."
	out, err := json.Marshal(s)
	if err != nil { // maps of plain values always marshal
		return json.RawMessage(`{}`)
	}
	return out
})

type schema = map[string]any

func objectSchema(v reflect.Value) schema {
	properties, order := schema{}, []string{}
	for _, f := range fieldsOf(v.Type()) {
		p := fieldSchema(f, v.FieldByIndex(f.Index))
		p["title"], p["description"] = title(f.Name), f.Doc
		if f.Restart {
			p["x-restart"] = true
		}
		properties[f.Name] = p
		order = append(order, f.Name)
	}
	return schema{"type": "object", "properties": properties, "additionalProperties": false, "x-order": order}
}

// fieldSchema describes one field; v holds its default.
func fieldSchema(f field, v reflect.Value) schema {
	if f.Type.Kind() == reflect.Struct {
		return objectSchema(v)
	}
	s := typeSchema(f)
	s["default"] = v.Interface()
	return s
}

func typeSchema(f field) schema {
	s := schema{}
	kind := f.Type.Kind()
	if kind == reflect.Pointer {
		kind = f.Type.Elem().Kind()
	}
	switch kind {
	case reflect.Struct:
		s = objectSchema(newValue(f.Type))
	case reflect.Map:
		s["type"], s["additionalProperties"] = "object", typeSchema(f.element())
		if f.Keys == "role" {
			s["propertyNames"] = schema{"enum": ModelRoles()}
		}
	case reflect.Slice:
		s["type"], s["items"] = "array", typeSchema(f.element())
	default:
		leafSchema(s, kind, f)
	}
	if f.Nullable {
		nullable(s)
	}
	return s
}

func leafSchema(s schema, kind reflect.Kind, f field) {
	s["type"] = map[reflect.Kind]string{
		reflect.String: "string", reflect.Bool: "boolean", reflect.Int: "integer", reflect.Float64: "number",
	}[kind]
	if f.Enum != nil {
		s["enum"] = f.Enum
	}
	if f.Min != nil {
		s["minimum"] = *f.Min
	}
	if f.Max != nil {
		s["maximum"] = *f.Max
	}
	if kind == reflect.String && f.Format != "" {
		s["x-format"] = f.Format
		if checkEmpty(f.Format) != "" {
			s["minLength"] = 1
		}
	}
}

func nullable(s schema) {
	s["type"] = []any{s["type"], "null"}
	if enum, ok := s["enum"].([]string); ok {
		values := []any{nil}
		for _, e := range enum {
			values = append(values, e)
		}
		s["enum"] = values
	}
}

// title is a key as a person reads it: lan_port becomes LAN port.
func title(name string) string {
	words := strings.Split(name, "_")
	for i, w := range words {
		switch w {
		case "api", "id", "lan", "mb", "kb", "mcp", "stt", "tts", "ttl", "ui", "url", "usd", "vad":
			words[i] = strings.ToUpper(w)
		case "mdns":
			words[i] = "mDNS"
		case "cpus":
			words[i] = "CPUs"
		case "s", "ms":
			words[i] = map[string]string{"s": "(seconds)", "ms": "(milliseconds)"}[w]
		case "openai", "chatgpt", "github", "searxng", "whatsapp", "oauth":
			words[i] = map[string]string{"openai": "OpenAI", "chatgpt": "ChatGPT", "github": "GitHub", "searxng": "SearXNG", "whatsapp": "WhatsApp", "oauth": "OAuth"}[w]
		default:
			if i == 0 && w != "" {
				words[i] = strings.ToUpper(w[:1]) + w[1:]
			}
		}
	}
	return strings.Join(words, " ")
}
