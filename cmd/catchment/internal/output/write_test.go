package output

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"reflect"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"
	"google.golang.org/protobuf/types/known/typepb"
	"google.golang.org/protobuf/types/known/wrapperspb"
	"gopkg.in/yaml.v3"
	"pgregory.net/rapid"

	edgev1 "github.com/catchment-bgp/catchment/api/edge/v1"
)

func TestEveryKindOfFieldHasItsForm(t *testing.T) {
	for _, tt := range []struct {
		name string
		m    proto.Message
		want string
	}{
		{"int64 over 2^53", wrapperspb.Int64(math.MinInt64), `{"value":-9223372036854775808}`},
		{"uint64", wrapperspb.UInt64(math.MaxUint64), `{"value":18446744073709551615}`},
		{"bool", wrapperspb.Bool(true), `{"value":true}`},
		{"double", wrapperspb.Double(0.1), `{"value":0.1}`},
		{"whole double", wrapperspb.Double(2), `{"value":2}`},
		{"large double", wrapperspb.Double(1e300), `{"value":1e+300}`},
		{"float", wrapperspb.Float(0.1), `{"value":0.1}`},
		{"NaN", wrapperspb.Double(math.NaN()), `{"value":null}`},
		{"infinity", wrapperspb.Float(float32(math.Inf(-1))), `{"value":null}`},
		{"bytes", wrapperspb.Bytes([]byte{0, 255}), `{"value":"AP8="}`},
		{"no bytes", wrapperspb.Bytes(nil), `{"value":""}`},
		{"string", wrapperspb.String("<a> & \"b\"\n"), `{"value":"<a> & \"b\"\n"}`},
		{"timestamp", &edgev1.PendingApply{RevertsAt: &timestamppb.Timestamp{Seconds: 1, Nanos: 5e8}}, `{"reverts_at":"1970-01-01T00:00:01.5Z"}`},
		{"timestamp out of range", &edgev1.PendingApply{RevertsAt: &timestamppb.Timestamp{Seconds: math.MaxInt64}}, `{"reverts_at":null}`},
		{"message not set", &edgev1.PendingApply{}, `{"reverts_at":null}`},
		{"optional not set", &edgev1.Route{}, `{"prefix":"","next_hop":"","prepend":0,"communities":[],"med":null,"local_pref":null}`},
		{"optional zero", &edgev1.Route{Med: proto.Uint32(0)}, `{"prefix":"","next_hop":"","prepend":0,"communities":[],"med":0,"local_pref":null}`},
		{"empty lists", &edgev1.WhyResponse{}, `{"decisions":[],"load":[]}`},
		{"empty map", &structpb.Struct{}, `{"fields":{}}`},
		{"duration", &edgev1.ApplyRequest{ConfirmWithin: &durationpb.Duration{Seconds: 120}}, `{"config":null,"confirm_within":120,"override_safety":false,"reason":""}`},
		{"enum", &typepb.EnumValue{Name: "x"}, `{"name":"x","number":0,"options":[]}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var out bytes.Buffer
			if err := WriteJSONLine(&out, tt.m); err != nil || out.String() != tt.want+"\n" {
				t.Errorf("error %v, got %s, want %s", err, out.String(), tt.want)
			}
		})
	}
}

func TestEnumsAreNamed(t *testing.T) {
	for syntax, want := range map[typepb.Syntax]string{
		typepb.Syntax_SYNTAX_EDITIONS: `"SYNTAX_EDITIONS"`,
		typepb.Syntax(77):             "77",
	} {
		var out bytes.Buffer
		if err := WriteJSONLine(&out, &typepb.Enum{Syntax: syntax}); err != nil || !strings.Contains(out.String(), `"syntax":`+want) {
			t.Errorf("error %v, got %s, want %s", err, out.String(), want)
		}
	}
}

func TestDurationsAreExactSeconds(t *testing.T) {
	for _, tt := range []struct {
		seconds int64
		nanos   int32
		want    string
	}{
		{0, 0, "0"}, {90, 0, "90"}, {0, 1, "0.000000001"}, {1, 5e8, "1.5"}, {-1, -5e8, "-1.5"}, {0, -5e8, "-0.5"},
		{315576000000, 999999999, "315576000000.999999999"}, {1, -1, "null"}, {math.MinInt64, 0, "null"},
	} {
		if got := seconds(&durationpb.Duration{Seconds: tt.seconds, Nanos: tt.nanos}); got.text != tt.want {
			t.Errorf("%d s %d ns: %s, want %s", tt.seconds, tt.nanos, got.text, tt.want)
		}
	}
}

func TestKeysKeepTheOrderOfTheProto(t *testing.T) {
	var jsonOut, yamlOut bytes.Buffer
	if err := errors.Join(WriteJSON(&jsonOut, &edgev1.StatusResponse{}), WriteYAML(&yamlOut, &edgev1.StatusResponse{})); err != nil {
		t.Fatal(err)
	}
	for _, out := range []string{jsonOut.String(), yamlOut.String()} {
		last := -1
		for _, key := range []string{"node", "central", "services", "version", "started", "pending_apply", "warnings", "way_back"} {
			at := strings.Index(out, key)
			if at <= last {
				t.Errorf("%s is not where the .proto has it:\n%s", key, out)
			}
			last = at
		}
	}
}

func TestMapsAreWrittenInOrder(t *testing.T) {
	fields := map[string]*structpb.Value{}
	for _, k := range []string{"c", "a", "d", "b"} {
		fields[k] = structpb.NewBoolValue(true)
	}
	var out bytes.Buffer
	if err := WriteJSONLine(&out, &structpb.Struct{Fields: fields}); err != nil {
		t.Fatal(err)
	}
	last := -1
	for _, k := range []string{`"a":`, `"b":`, `"c":`, `"d":`} {
		at := strings.Index(out.String(), k)
		if at <= last {
			t.Errorf("%s is out of order in %s", k, out.String())
		}
		last = at
	}
}

// Whatever the texts are, both formats read back as what went in.
func TestYAMLAndJSONReadBackTheSame(t *testing.T) {
	words := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"yes", "on", "null", "~", "1e3", "0x10", "1:30", "- a", "#x", " x ", "a\n", "\x1b[2J", "2026-03-01"}))
	rapid.Check(t, func(t *rapid.T) {
		name, detail := words.Draw(t, "name"), words.Draw(t, "detail")
		m := &edgev1.StatusResponse{Node: name, Warnings: []string{detail}, Services: []*edgev1.Service{{Detail: detail,
			Neighbors: []*edgev1.Neighbor{{Asn: rapid.Uint32().Draw(t, "asn"), Shed: rapid.Float64().Draw(t, "shed")}}}}}
		var jsonOut, yamlOut bytes.Buffer
		if err := errors.Join(WriteJSON(&jsonOut, m), WriteYAML(&yamlOut, m)); err != nil {
			t.Fatal(err)
		}
		var fromJSON, fromYAML any
		if err := json.Unmarshal(jsonOut.Bytes(), &fromJSON); err != nil {
			t.Fatalf("%v in %s", err, jsonOut.String())
		}
		if err := yaml.Unmarshal(yamlOut.Bytes(), &fromYAML); err != nil {
			t.Fatalf("%v in %s", err, yamlOut.String())
		}
		if got := fromJSON.(map[string]any)["node"]; got != name {
			t.Fatalf("JSON: %q, want %q", got, name)
		}
		if !reflect.DeepEqual(fromJSON, floats(fromYAML)) {
			t.Fatalf("JSON\n%s\nYAML\n%s", jsonOut.String(), yamlOut.String())
		}
	})
}

// floats turns the integers that YAML knows into JSON's only kind of number.
func floats(v any) any {
	switch v := v.(type) {
	case int:
		return float64(v)
	case uint64:
		return float64(v)
	case map[string]any:
		for k, e := range v {
			v[k] = floats(e)
		}
	case []any:
		for i, e := range v {
			v[i] = floats(e)
		}
	}
	return v
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("full") }

func TestWriteErrorsAreReturned(t *testing.T) {
	m := &edgev1.StatusResponse{}
	g := Grid{Titles: []string{"A"}}
	g.Row(Cell{Text: "a"})
	for name, err := range map[string]error{
		"JSON": WriteJSON(full{}, m), "line": WriteJSONLine(full{}, m), "YAML": WriteYAML(full{}, m), "grid": g.Write(full{}),
	} {
		if err == nil || err.Error() != "full" {
			t.Errorf("%s: %v", name, err)
		}
	}
}
