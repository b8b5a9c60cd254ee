package table

import (
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// message is a pointer to a generated message type M.
type message[M any] interface {
	*M
	proto.Message
}

// Proto is the codec of a protobuf message, for Options.Encode and Options.Decode: table.Proto[chatpb.Row](). Text that is
// not valid UTF-8, which protobuf refuses, is stored with U+FFFD for what is wrong in it.
func Proto[M any, P message[M]]() (encode func(P) []byte, decode func([]byte) (P, error)) {
	marshal := proto.MarshalOptions{Deterministic: true, AllowPartial: true}
	encode = func(m P) []byte {
		if b, err := marshal.Marshal(m); err == nil {
			return b
		}
		clean := proto.Clone(m)
		cleanText(clean.ProtoReflect())
		b, _ := marshal.Marshal(clean) // text was all that could be wrong
		return b
	}
	decode = func(b []byte) (P, error) {
		m := P(new(M))
		err := proto.UnmarshalOptions{AllowPartial: true}.Unmarshal(b, m)
		return m, err
	}
	return encode, decode
}

func valid(s string) protoreflect.Value {
	return protoreflect.ValueOfString(strings.ToValidUTF8(s, "\uFFFD"))
}

// cleanText makes every string of m valid.
func cleanText(m protoreflect.Message) {
	m.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		switch {
		case f.IsMap():
			cleanMap(f, v.Map())
		case f.IsList():
			for i := range v.List().Len() {
				if f.Kind() == protoreflect.StringKind {
					v.List().Set(i, valid(v.List().Get(i).String()))
				} else if f.Message() != nil {
					cleanText(v.List().Get(i).Message())
				}
			}
		case f.Kind() == protoreflect.StringKind:
			m.Set(f, valid(v.String()))
		case f.Message() != nil:
			cleanText(v.Message())
		}
		return true
	})
}

func cleanMap(f protoreflect.FieldDescriptor, m protoreflect.Map) {
	m.Range(func(k protoreflect.MapKey, v protoreflect.Value) bool {
		if f.MapValue().Message() != nil {
			cleanText(v.Message())
		} else if f.MapValue().Kind() == protoreflect.StringKind {
			v = valid(v.String())
		}
		if f.MapKey().Kind() == protoreflect.StringKind {
			m.Clear(k)
			k = valid(k.String()).MapKey()
		}
		m.Set(k, v)
		return true
	})
}
