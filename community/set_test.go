package community

import (
	"encoding/json"
	"slices"
	"testing"

	"gopkg.in/yaml.v3"
	"pgregory.net/rapid"
)

// few draws from a small pool, so that repeats and overlaps are common.
func few() *rapid.Generator[[]Value] {
	pool := []Value{
		{}, NewStandard(0, 1), NewStandard(57629, 101), GracefulShutdown, NewExtended([8]byte{}),
		NewExtended([8]byte{0, 2, 0xE1, 0x1D, 0, 0, 0, 1}), NewLarge(0, 0, 0), NewLarge(57629, 1, 101),
	}
	return rapid.SliceOfN(rapid.OneOf(rapid.SampledFrom(pool), values()), 0, 12)
}

// members is the obvious set of communities.
func members(lists ...[]Value) map[Value]bool {
	m := map[Value]bool{}
	for _, v := range slices.Concat(lists...) {
		if v != (Value{}) {
			m[v] = true
		}
	}
	return m
}

// checkSet fails unless s is a well-formed Set of exactly the values in want.
func checkSet(t *rapid.T, op string, s Set, want map[Value]bool) {
	t.Helper()
	if !slices.IsSortedFunc(s, Compare) {
		t.Fatalf("%s: not sorted: %v", op, s)
	}
	if len(s) != len(want) {
		t.Fatalf("%s: %v, want %v", op, s, want)
	}
	for _, v := range s {
		if !want[v] {
			t.Fatalf("%s: %v is in %v, want %v", op, v, s, want)
		}
	}
}

func TestSetsAgreeWithMaps(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := few().Draw(t, "a"), few().Draw(t, "b")
		s, u := NewSet(a...), NewSet(b...)
		checkSet(t, "NewSet", s, members(a))
		checkSet(t, "Union", s.Union(u), members(a, b))
		without := members(a)
		for v := range members(b) {
			delete(without, v)
		}
		checkSet(t, "Without", s.Without(u), without)
		for _, k := range []Kind{0, Standard, Extended, Large, Large + 1} {
			of := members(a)
			for v := range of {
				if v.Kind() != k {
					delete(of, v)
				}
			}
			checkSet(t, "Of", s.Of(k), of)
		}
		for _, v := range slices.Concat(a, b) {
			if s.Contains(v) != members(a)[v] {
				t.Fatalf("Contains(%v) = %t", v, s.Contains(v))
			}
		}
		if !s.Equal(NewSet(slices.Concat(s, a)...)) {
			t.Fatal("order and repeats make a difference")
		}
		if s.Equal(u) != (len(without) == 0 && len(s) == len(u)) {
			t.Fatalf("Equal(%v, %v) = %t", s, u, s.Equal(u))
		}
	})
}

func TestNewSetLeavesItsArgumentsAlone(t *testing.T) {
	in := []Value{NoExport, NewStandard(57629, 101), NoExport}
	s := NewSet(in...)
	if want := []Value{NoExport, NewStandard(57629, 101), NoExport}; !slices.Equal(in, want) {
		t.Errorf("the argument became %v", in)
	}
	in[1] = Blackhole
	if want := (Set{NewStandard(57629, 101), NoExport}); !s.Equal(want) {
		t.Errorf("the set became %v", s)
	}
}

func TestAppendingToAPartOfASetDoesNotReachTheSet(t *testing.T) {
	s := NewSet(NoExport, NewLarge(57629, 1, 101))
	_ = append(s.Of(Standard), Blackhole)
	if want := (Set{NoExport, NewLarge(57629, 1, 101)}); !s.Equal(want) {
		t.Errorf("the set became %v", s)
	}
}

func TestStringsAreInTheOrderOfTheSet(t *testing.T) {
	s := NewSet(NewLarge(57629, 1, 101), NoExport, mustParse(t, "rt:57629:101"), NewStandard(57629, 101))
	want := []string{"57629:101", "65535:65281", "rt:57629:101", "57629:1:101"}
	if got := s.Strings(); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if got := Set(nil).Strings(); got == nil || len(got) != 0 {
		t.Errorf("the empty set gives %#v", got)
	}
}

func TestSetsTravelAsListsInJSONAndYAML(t *testing.T) {
	type doc struct {
		Tags Set `json:"tags" yaml:"tags"`
	}
	for _, test := range []struct {
		set  Set
		json string
	}{
		{nil, `{"tags":[]}`},
		{Set{}, `{"tags":[]}`},
		{NewSet(NewLarge(57629, 1, 101), NewStandard(57629, 101)), `{"tags":["57629:101","57629:1:101"]}`},
	} {
		asJSON, err := json.Marshal(doc{test.set})
		if err != nil || string(asJSON) != test.json {
			t.Errorf("JSON %s, %v; want %s", asJSON, err, test.json)
		}
		asYAML, err := yaml.Marshal(doc{test.set})
		if err != nil {
			t.Error(err)
		}
		var fromJSON, fromYAML doc
		if err := json.Unmarshal(asJSON, &fromJSON); err != nil || !fromJSON.Tags.Equal(test.set) {
			t.Errorf("%s came back as %v, %v", asJSON, fromJSON, err)
		}
		if err := yaml.Unmarshal(asYAML, &fromYAML); err != nil || !fromYAML.Tags.Equal(test.set) {
			t.Errorf("%s came back as %v, %v", asYAML, fromYAML, err)
		}
	}
}

func TestAReadSetIsSortedAndWithoutRepeats(t *testing.T) {
	want := NewSet(NewStandard(57629, 101), NoExport)
	var s Set
	if err := json.Unmarshal([]byte(`["no-export","57629:101","65535:65281"]`), &s); err != nil || !slices.Equal(s, want) {
		t.Errorf("JSON: %v, %v", s, err)
	}
	s = nil
	if err := yaml.Unmarshal([]byte("[no-export, 57629:101, 65535:65281]"), &s); err != nil || !slices.Equal(s, want) {
		t.Errorf("YAML: %v, %v", s, err)
	}
}

func TestABadMemberLeavesTheSetAlone(t *testing.T) {
	s := NewSet(NoExport)
	const want = "65536:1: AS 65536 does not fit a standard community; write 65536:0:1"
	if err := json.Unmarshal([]byte(`["57629:101","65536:1"]`), &s); err == nil || err.Error() != want {
		t.Errorf("JSON: error %v", err)
	}
	if err := yaml.Unmarshal([]byte(`["57629:101","65536:1"]`), &s); err == nil || err.Error() != want {
		t.Errorf("YAML: error %v", err)
	}
	if err := json.Unmarshal([]byte(`"57629:101"`), &s); err == nil {
		t.Error("a text was read as a list")
	}
	if !s.Equal(NewSet(NoExport)) {
		t.Errorf("the set became %v", s)
	}
}
