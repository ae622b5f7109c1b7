package edgecmd

import (
	"encoding/json"
	"fmt"
	"os"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	edgev1 "github.com/catchment-bgp/catchment/api/edge/v1"
	"github.com/catchment-bgp/catchment/cmd/catchment/internal/output"
)

// contract.json is what scripts were promised: its keys, and the types of its
// values. Other keys may be added.
func TestStatusKeepsTheContract(t *testing.T) {
	content, err := os.ReadFile("testdata/contract.json")
	if err != nil {
		t.Fatal(err)
	}
	var want, got any
	if err := json.Unmarshal(content, &want); err != nil {
		t.Fatal(err)
	}
	r := at((&fakeEdge{status: fullStatus()}).serve(t)).run(limited(t), "status", "-o", "json")
	if err := json.Unmarshal([]byte(r.stdout), &got); err != nil {
		t.Fatalf("%v in %s", err, r.stdout)
	}
	if n := sameShape(t, "status", want, got); n != 30 {
		t.Errorf("%d key paths compared, want 30: the fixture or the walk is not whole", n)
	}
}

// sameShape reports what want has and got lacks, and counts the keys it saw.
func sameShape(t *testing.T, path string, want, got any) int {
	t.Helper()
	if w, g := fmt.Sprintf("%T", want), fmt.Sprintf("%T", got); w != g {
		t.Errorf("%s: %s (%v), want %s", path, g, got, w)
		return 0
	}
	n := 0
	switch want := want.(type) {
	case map[string]any:
		for key, value := range want {
			inner, ok := got.(map[string]any)[key]
			if !ok {
				t.Errorf("%s.%s is missing", path, key)
				continue
			}
			n += 1 + sameShape(t, path+"."+key, value, inner)
		}
	case []any:
		list := got.([]any)
		if len(list) == 0 {
			t.Errorf("%s is empty: nothing to compare", path)
			return 0
		}
		n += sameShape(t, path+"[0]", want[0], list[0])
	case string:
		if _, err := time.Parse(time.RFC3339, want); err == nil {
			if _, err := time.Parse(time.RFC3339, got.(string)); err != nil {
				t.Errorf("%s: %v", path, err)
			}
		}
	}
	return n
}

func TestNoListIsEverNull(t *testing.T) {
	sparse := &edgev1.StatusResponse{Services: []*edgev1.Service{{Neighbors: []*edgev1.Neighbor{{Routes: []*edgev1.Route{{}}}}}}}
	for _, m := range []*edgev1.StatusResponse{{}, sparse, {Services: []*edgev1.Service{{}}}} {
		r := at((&fakeEdge{status: m}).serve(t)).run(limited(t), "status", "-o", "json")
		var doc any
		if err := json.Unmarshal([]byte(r.stdout), &doc); err != nil {
			t.Fatal(err)
		}
		nulls := map[string]bool{}
		collectNulls("", doc, nulls)
		for path := range nulls {
			if !nullable[path] {
				t.Errorf("%s is null for %v", path, m)
			}
		}
	}
}

// nullable is what may be null: times, messages and figures that are not known.
var nullable = map[string]bool{
	".started": true, ".pending_apply": true, ".way_back": true, ".services.since": true,
	".services.neighbors.link": true, ".services.neighbors.session_since": true,
	".services.neighbors.routes.med": true, ".services.neighbors.routes.local_pref": true,
}

func collectNulls(path string, v any, into map[string]bool) {
	switch v := v.(type) {
	case nil:
		into[path] = true
	case map[string]any:
		for key, value := range v {
			collectNulls(path+"."+key, value, into)
		}
	case []any:
		for _, value := range v {
			collectNulls(path, value, into)
		}
	}
}

// A table must show whatever a node says, however odd, without a panic.
func FuzzTablesTakeAnyStatus(f *testing.F) {
	seed, err := proto.Marshal(fullStatus())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(seed)
	f.Fuzz(func(t *testing.T, wire []byte) {
		m := &edgev1.StatusResponse{}
		if proto.Unmarshal(wire, m) != nil {
			return
		}
		out := newTap()
		if err := (statusView{now: now, coloured: true}).write(out, m); err != nil || out.String() == "" {
			t.Errorf("error %v, %d octets", err, len(out.String()))
		}
		if err := (&changes{output.Changes{W: out, Now: func() time.Time { return now }}}).show(m); err != nil {
			t.Error(err)
		}
	})
}
