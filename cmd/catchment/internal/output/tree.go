package output

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"sort"
	"strconv"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// node is one value of the tree that JSON and YAML are both written from.
type node struct {
	kind  kind
	text  string   // of a literal or a string
	keys  []string // of an object, one for each item
	items []node   // of an object or a list
}

type kind int

const (
	literal kind = iota // null, true, false or a number, as JSON writes it
	text
	list
	object
)

var null = node{kind: literal, text: "null"}

// tree returns the whole of m, unset fields included.
func tree(m proto.Message) node { return message(m.ProtoReflect()) }

func message(m protoreflect.Message) node {
	switch v := m.Interface().(type) {
	case *timestamppb.Timestamp:
		return timestamp(v)
	case *durationpb.Duration:
		return seconds(v)
	}
	fields := m.Descriptor().Fields()
	out := node{kind: object}
	for i := range fields.Len() {
		f := fields.Get(i)
		out.keys = append(out.keys, string(f.Name()))
		out.items = append(out.items, field(m, f))
	}
	return out
}

func field(m protoreflect.Message, f protoreflect.FieldDescriptor) node {
	switch {
	case f.IsList():
		return elements(m.Get(f).List(), f)
	case f.IsMap():
		return entries(m.Get(f).Map(), f)
	case f.HasPresence() && !m.Has(f):
		return null
	}
	return single(m.Get(f), f)
}

func elements(l protoreflect.List, f protoreflect.FieldDescriptor) node {
	out := node{kind: list}
	for i := range l.Len() {
		out.items = append(out.items, single(l.Get(i), f))
	}
	return out
}

// entries are in the order of their keys' texts, so that the same map is always
// written the same.
func entries(m protoreflect.Map, f protoreflect.FieldDescriptor) node {
	var keys []protoreflect.MapKey
	m.Range(func(k protoreflect.MapKey, _ protoreflect.Value) bool {
		keys = append(keys, k)
		return true
	})
	sort.Slice(keys, func(i, j int) bool { return keys[i].String() < keys[j].String() })
	out := node{kind: object}
	for _, k := range keys {
		out.keys = append(out.keys, k.String())
		out.items = append(out.items, single(m.Get(k), f.MapValue()))
	}
	return out
}

func single(v protoreflect.Value, f protoreflect.FieldDescriptor) node {
	switch f.Kind() {
	case protoreflect.MessageKind, protoreflect.GroupKind:
		return message(v.Message())
	case protoreflect.StringKind:
		return node{kind: text, text: v.String()}
	case protoreflect.BytesKind:
		return node{kind: text, text: base64.StdEncoding.EncodeToString(v.Bytes())}
	case protoreflect.EnumKind:
		return enum(v.Enum(), f.Enum())
	case protoreflect.FloatKind:
		return number(float32(v.Float()))
	case protoreflect.DoubleKind:
		return number(v.Float())
	}
	// Booleans and the integers print as JSON has them.
	return node{kind: literal, text: fmt.Sprint(v.Interface())}
}

func number(v any) node {
	b, err := json.Marshal(v)
	if err != nil { // NaN or an infinity
		return null
	}
	return node{kind: literal, text: string(b)}
}

// enum is the name; a number that this program knows no name for stays a number.
func enum(n protoreflect.EnumNumber, d protoreflect.EnumDescriptor) node {
	if v := d.Values().ByNumber(n); v != nil {
		return node{kind: text, text: string(v.Name())}
	}
	return node{kind: literal, text: strconv.Itoa(int(n))}
}

func timestamp(t *timestamppb.Timestamp) node {
	if !t.IsValid() {
		return null
	}
	return node{kind: text, text: t.AsTime().Format(time.RFC3339Nano)}
}

// seconds is exact: a binary fraction would not be.
func seconds(d *durationpb.Duration) node {
	if !d.IsValid() {
		return null
	}
	s, n := d.GetSeconds(), d.GetNanos()
	sign := ""
	if s < 0 || n < 0 {
		sign, s, n = "-", -s, -n
	}
	out := sign + strconv.FormatInt(s, 10)
	if n != 0 {
		out += "." + strings.TrimRight(fmt.Sprintf("%09d", n), "0")
	}
	return node{kind: literal, text: out}
}
