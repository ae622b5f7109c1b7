package edge

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"slices"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protojson"

	"github.com/catchment-bgp/catchment/announcer/host"
	"github.com/catchment-bgp/catchment/policy"
)

var update = flag.Bool("update", false, "write testdata anew")

// wellBack is replies finding their way.
var wellBack = host.WayBack{IPv4: true, IPv6: true}

// TestTheStatusHasEveryKey compares the status of a node on which much is going
// on with testdata/status.json, which has every key of the contract.
func TestTheStatusHasEveryKey(t *testing.T) {
	up(t, func(t *testing.T, w *world) {
		w.say(at("ix"), Word{Verb: policy.Drain, For: time.Hour, Reason: "circuit work", By: "root (uid 0)"})
		w.report("origin", "502")
		deep := "\n      - {name: deep, http: {url: \"http://198.51.100.1:8080/deep\"}}"
		if _, err := w.apply(time.Hour, append(slices.Clone(tagged), web, web+deep)...); err != nil {
			t.Fatal(err)
		}
		w.wayBack <- host.WayBack{IPv4: true}
		w.pass(time.Minute)
		text, err := protojson.MarshalOptions{UseProtoNames: true, EmitUnpopulated: true}.Marshal(w.snapshot().proto())
		if err != nil {
			t.Fatal(err)
		}
		var got, stable bytes.Buffer
		if err := json.Compact(&stable, text); err != nil { // protojson puts spaces at will
			t.Fatal(err)
		}
		if err := json.Indent(&got, stable.Bytes(), "", "  "); err != nil {
			t.Fatal(err)
		}
		got.WriteByte('\n')
		if *update {
			if err := os.WriteFile("testdata/status.json", got.Bytes(), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile("testdata/status.json")
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got.Bytes(), want) {
			t.Errorf("go test ./edge -run EveryKey -update writes it anew; now:\n%s", got.Bytes())
		}
	})
}

// TestTheGoldenStatusHasTheContractsKeys guards the file itself.
func TestTheGoldenStatusHasTheContractsKeys(t *testing.T) {
	text, err := os.ReadFile("testdata/status.json")
	if err != nil {
		t.Fatal(err)
	}
	var status map[string]any
	if err := json.Unmarshal(text, &status); err != nil {
		t.Fatal(err)
	}
	first := func(v any) map[string]any { return v.([]any)[0].(map[string]any) }
	service := first(status["services"])
	neighbor := first(service["neighbors"])
	for _, part := range []struct {
		of   map[string]any
		keys []string
	}{
		{status, []string{"node", "central", "services"}},
		{service, []string{"name", "state", "reason", "detail", "since", "checks", "neighbors"}},
		{first(service["checks"]), []string{"name", "up", "last", "error"}},
		{neighbor, []string{"name", "session", "rung", "rungs", "shed", "link", "flap_penalty", "routes"}},
		{neighbor["link"].(map[string]any), []string{"stale"}},
		{first(neighbor["routes"]), []string{"prefix", "next_hop", "prepend", "communities"}},
	} {
		for _, key := range part.keys {
			if _, there := part.of[key]; !there {
				t.Errorf("no %s in %v", key, part.of)
			}
		}
	}
}
