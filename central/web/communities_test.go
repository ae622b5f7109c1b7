package web

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	centralv1 "github.com/catchment-bgp/catchment/api/central/v1"
	"github.com/catchment-bgp/catchment/central/identity"
	"github.com/catchment-bgp/catchment/community"
	"github.com/catchment-bgp/catchment/community/registry"
)

// someDocs document a few communities of ours, and one of a transit.
func someDocs(t testing.TB) *registry.Registry {
	t.Helper()
	entry := func(pattern, meaning string, owner uint32, kind registry.Kind, action *registry.Action) registry.Entry {
		p, err := community.ParsePattern(pattern)
		if err != nil {
			t.Fatal(err)
		}
		return registry.Entry{Pattern: p, Kind: kind, Action: action, Meaning: meaning, Owner: owner, Source: registry.Source{File: "as.txt", Line: 3}, Confidence: 0.9}
	}
	two := uint32(2)
	return registry.New(
		entry("57629:101", "Mordor", 57629, registry.KindInfo, nil),
		entry("57629:103", "Yekaterinburg", 57629, registry.KindInfo, nil),
		entry("65001:777", "do not announce to peers", 65001, registry.KindAction, &registry.Action{Verb: registry.NoExport}),
		entry("65001:32x", "prepend twice towards "+hostile, 65001, registry.KindAction, &registry.Action{Verb: registry.Prepend, Number: &two}),
	)
}

func TestExplainSaysWhatAPasteMeansAndWhoseTagItIs(t *testing.T) {
	for name, c := range map[string]struct {
		paste string
		says  []string
	}{
		"values":     {"57629:101 65535:0", []string{"57629:101 Moscow msk1 AS57629 node msk1", "57629:101 Mordor", "as.txt:3", "65535:0", "RFC 8326"}},
		"bird":       {"\tBGP.community: (57629,102) (65001,321)\n\tBGP.large_community: (57629, 1, 101)", []string{"57629:102 " + hostile, "65001:321 prepend twice", "prepend 2", "57629:1:101 not documented here"}},
		"frr":        {"      Community: 57629:103 65535:65281\n      Last update: Mon Nov 30 10:00:00 2026", []string{"57629:103 Yekaterinburg", "65535:65281"}},
		"frr json":   {`{"paths":[{"community":{"string":"57629:101","list":["57629:101"]}}]}`, []string{"57629:101 Moscow"}},
		"nothing":    {"router bgp 57629", []string{"There is no community in it."}},
		"no value":   {"Community: 57629:99999", []string{"1 piece not understood", "line 1"}},
		"hostile":    {hostile + " 57629:101", []string{hostile, "57629:101 Moscow"}},
		"said twice": {"57629:103 57629:103", []string{"57629:103 Yekaterinburg"}},
	} {
		t.Run(name, func(t *testing.T) {
			d := deskOf(t, fleetAPI(), identity.Viewer, someDocs(t))
			d.shows(d.post("/communities", url.Values{"text": {c.paste}}), http.StatusOK, c.says...)
			d.wants()
		})
	}
}

func TestExplainKeepsThePasteWithinBounds(t *testing.T) {
	d := deskOf(t, fleetAPI(), identity.Viewer, nil)
	many := make([]string, maxExplained+5)
	for i := range many {
		many[i] = fmt.Sprintf("57629:%d", 1000+i)
	}
	w := d.post("/communities", url.Values{"text": {strings.Join(many, " ")}})
	d.shows(w, http.StatusOK, "57629:1000", "5 more values are not shown.")
	if got := sentTo(t, w.Body.String(), "/communities"); got.Get("text") != strings.Join(many, " ") {
		t.Errorf("the paste was forgotten")
	}
	w = d.post("/communities", url.Values{"text": {strings.Repeat("a", maxPaste+1)}})
	d.shows(w, http.StatusUnprocessableEntity, "longer than 64 KiB")
	if said := describedBy(t, w.Body.String(), "text"); !strings.Contains(said, "longer than 64 KiB") {
		t.Errorf("the box is described by %q", said)
	}
	d.shows(d.post("/communities", url.Values{"text": {" \n"}}), http.StatusUnprocessableEntity, "paste communities")
	d.shows(d.post("/communities", url.Values{"text": {strings.Repeat("a", maxPasteForm)}}), http.StatusRequestEntityTooLarge, "too long")
	d.wants()
}

func TestCommunitiesShowTagsFindingsAndWhatToPublish(t *testing.T) {
	d := deskOf(t, fleetAPI(), identity.Viewer, someDocs(t))
	w := d.get("/communities")
	d.shows(w, http.StatusOK, "57629:101 Moscow msk1", hostile, "(shared)", "AS57629", "AS65001", "Everybody: what RFCs define",
		`"Mordor" here, and "Moscow" there; one value has one meaning`, "error", "(clash)", "57629:103 Yekaterinburg")
	if body := w.Body.String(); !strings.Contains(body, "remarks:") || strings.Contains(spoken(parsed(t, body, "pre")), "65001") {
		t.Errorf("what a transit documents is not ours to publish: %s", spoken(parsed(t, body, "pre")))
	}
	d.wants()
}

func TestCommunitiesOfAnEmptyFleet(t *testing.T) {
	d := deskOf(t, answering(nil), identity.Viewer, nil)
	d.shows(d.get("/communities"), http.StatusOK, "No node has a tag.", "This centre has no documents", "Nothing is wrong with 0 entries.", "There is nothing of ours to publish yet.")
}

func TestCommunitiesPassOnThatTheCentreCannotAnswer(t *testing.T) {
	d := deskOf(t, answering(nil), identity.Viewer, nil)
	d.api.readErr = status.Error(codes.Unavailable, "the store does not answer")
	d.shows(d.get("/communities"), http.StatusServiceUnavailable, "the store does not answer")
	d.shows(d.get("/communities/rpsl"), http.StatusServiceUnavailable, "the store does not answer")
}

func TestRegistryIsSearchedByTextOwnerAndValue(t *testing.T) {
	for query, want := range map[string]struct{ has, lacks string }{
		"yekat":     {"57629:103", "65001:32x"},
		" YEKAT ":   {"57629:103", "65001:32x"},
		"as65001":   {"65001:32x", "57629:103"},
		"65001:325": {"65001:32x", "57629:103"},
		"prepend 2": {"65001:32x", "57629:103"},
		"nobody":    {"0 entries for “nobody”", "65001:32x"},
		hostile:     {"for “" + hostile, "57629:103"},
	} {
		d := deskOf(t, answering(nil), identity.Viewer, someDocs(t))
		w := d.get("/communities?q=" + url.QueryEscape(query))
		d.shows(w, http.StatusOK, want.has)
		registry := spoken(parsed(t, w.Body.String(), "section[registry]"))
		if strings.Contains(registry, want.lacks) {
			t.Errorf("%q finds %s, too: %s", query, want.lacks, registry)
		}
	}
}

func TestRegistryThatIsLongIsCut(t *testing.T) {
	var entries []registry.Entry
	for i := range maxShown + 10 {
		v, err := community.Parse(fmt.Sprintf("57629:%d", i))
		if err != nil {
			t.Fatal(err)
		}
		entries = append(entries, registry.Entry{Pattern: community.PatternOf(v), Kind: registry.KindInfo, Meaning: fmt.Sprintf("place %d", i), Owner: 57629})
	}
	d := deskOf(t, answering(nil), identity.Viewer, registry.New(entries...))
	d.shows(d.get("/communities"), http.StatusOK, fmt.Sprintf("Only the first %d are shown", maxShown))
	d.shows(d.get("/communities?q=place+1005"), http.StatusOK, "1 entry for")
}

func TestRPSLIsAFileOfEachOfOurASes(t *testing.T) {
	api := answering(map[proto.Message]proto.Message{&centralv1.ListNodesRequest{}: &centralv1.ListNodesResponse{Nodes: someNodes()[:1]}})
	w := deskOf(t, api, identity.Viewer, someDocs(t)).get("/communities/rpsl")
	text := w.Body.String()
	if w.Code != http.StatusOK || !strings.HasPrefix(w.Header().Get("Content-Type"), "text/plain") || !strings.Contains(w.Header().Get("Content-Disposition"), "attachment") {
		t.Fatalf("%d %v", w.Code, w.Header())
	}
	for _, want := range []string{"aut-num:        AS57629\n", "remarks:        57629:103", "Yekaterinburg", "Moscow"} {
		if !strings.Contains(text, want) {
			t.Errorf("the file lacks %q:\n%s", want, text)
		}
	}
	if strings.Contains(text, "65001") {
		t.Errorf("the file has what is not ours:\n%s", text)
	}
}

func FuzzExplain(f *testing.F) {
	for _, text := range []string{"57629:101", hostile, "\tBGP.community: (57629,102)", `{"community":["57629:1"]}`, "Community: 1:2:3 rt:1:2 gshut", "\x00\xff", "[[[["} {
		f.Add(text)
	}
	d := deskOf(f, fleetAPI(), identity.Viewer, someDocs(f))
	f.Fuzz(func(t *testing.T, text string) {
		d.t, d.api.asked = t, nil                               // inputs come one after the other
		w := d.post("/communities", url.Values{"text": {text}}) // it checks the page, too
		if w.Code != http.StatusOK && w.Code != http.StatusUnprocessableEntity && w.Code != http.StatusRequestEntityTooLarge {
			t.Errorf("the answer is %d", w.Code)
		}
		d.wants()
	})
}
