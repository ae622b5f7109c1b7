package output

import (
	"fmt"
	"strings"
	"unicode"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// Printable returns a copy of m for a terminal: control characters in its texts
// are spelled out. Some of those texts come from a neighbour (RFC 9003), which
// must not be able to move the operator's cursor.
func Printable[M proto.Message](m M) M {
	out := proto.CloneOf(m)
	clean(out.ProtoReflect())
	return out
}

func clean(m protoreflect.Message) {
	m.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		switch {
		case f.IsMap():
			// None of the messages that are shown as tables has one.
		case f.IsList():
			cleanList(v.List(), f)
		case f.Message() != nil:
			clean(v.Message())
		case f.Kind() == protoreflect.StringKind:
			m.Set(f, protoreflect.ValueOfString(OneLine(v.String())))
		}
		return true
	})
}

func cleanList(l protoreflect.List, f protoreflect.FieldDescriptor) {
	for i := range l.Len() {
		switch {
		case f.Message() != nil:
			clean(l.Get(i).Message())
		case f.Kind() == protoreflect.StringKind:
			l.Set(i, protoreflect.ValueOfString(OneLine(l.Get(i).String())))
		}
	}
}

// OneLine spells out the control characters of s, line ends too.
func OneLine(s string) string { return spell(s, "") }

// Lines spells out the control characters of s but for line ends and tabs.
func Lines(s string) string { return spell(s, "\n\t") }

func spell(s, keep string) string {
	var out strings.Builder
	for _, r := range s {
		switch {
		case strings.ContainsRune(keep, r), unicode.IsPrint(r):
			out.WriteRune(r)
		case r < 0x100:
			fmt.Fprintf(&out, `\x%02x`, r)
		default:
			fmt.Fprintf(&out, `\u%04x`, r)
		}
	}
	return out.String()
}
