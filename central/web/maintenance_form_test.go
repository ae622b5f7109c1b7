package web

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	centralv1 "github.com/catchment-bgp/catchment/api/central/v1"
	"github.com/catchment-bgp/catchment/central/identity"
)

// filled is a form that is good.
func filled(more url.Values) url.Values {
	out := url.Values{"node": {"msk1"}, "start": {"at"}, "at": {"2026-03-02T02:00"}, "zone": {"Europe/Moscow"}, "lasts": {"2h"}, "lead": {"5m"}, "reason": {"new line card"}, "ticket": {"NOC-2"}}
	for name, values := range more {
		out[name] = values
	}
	return out
}

func askedFor(change func(*centralv1.AddWindowRequest)) *centralv1.AddWindowRequest {
	r := &centralv1.AddWindowRequest{Selector: &centralv1.Selector{Nodes: []string{"msk1"}}, Start: "2026-03-02 02:00", Zone: "Europe/Moscow",
		Duration: durationpb.New(2 * time.Hour), Lead: durationpb.New(5 * time.Minute), Reason: "new line card", Ticket: "NOC-2"}
	if change != nil {
		change(r)
	}
	return r
}

func TestPlanAsksForExactlyWhatTheFormSays(t *testing.T) {
	for name, c := range map[string]struct {
		form url.Values
		want *centralv1.AddWindowRequest
	}{
		"a time in a zone": {nil, askedFor(nil)},
		"now": {url.Values{"start": {"now"}}, askedFor(func(r *centralv1.AddWindowRequest) {
			r.Start, r.Zone = "now", ""
		})},
		"now and again": {url.Values{"start": {"now"}, "rrule": {" FREQ=DAILY "}}, askedFor(func(r *centralv1.AddWindowRequest) {
			r.Start, r.Rrule = "now", "FREQ=DAILY"
		})},
		"several lists": {url.Values{"node": {"msk1", "spb1"}, "site": {"moscow"}, "neighbor": {"transit-a"}, "service": {"video"}}, askedFor(func(r *centralv1.AddWindowRequest) {
			r.Selector = &centralv1.Selector{Nodes: []string{"msk1", "spb1"}, Sites: []string{"moscow"}, Neighbors: []string{"transit-a"}, Services: []string{"video"}}
		})},
		"labels": {url.Values{"node": nil, "label": {"hall=2", "circuit=C-1"}}, askedFor(func(r *centralv1.AddWindowRequest) {
			r.Selector = &centralv1.Selector{Labels: map[string]string{"hall": "2", "circuit": "C-1"}}
		})},
		"all nodes at a neighbour": {url.Values{"node": nil, "all": {"1"}, "expect": {" 2 "}, "neighbor": {"transit-a"}}, askedFor(func(r *centralv1.AddWindowRequest) {
			r.Selector = &centralv1.Selector{All: true, Expect: 2, Neighbors: []string{"transit-a"}}
		})},
		"in spite of limits, without lead": {url.Values{"override": {"1"}, "lead": {""}, "lasts": {"1d"}}, askedFor(func(r *centralv1.AddWindowRequest) {
			r.OverrideSafety, r.Lead, r.Duration = true, nil, durationpb.New(24*time.Hour)
		})},
	} {
		t.Run(name, func(t *testing.T) {
			d := deskOf(t, fleetAPI(), identity.Operator, nil)
			dry := proto.CloneOf(c.want)
			dry.DryRun = true
			w := d.post("/maintenance/preview", filled(c.form))
			d.shows(w, http.StatusOK, "Nothing has been done yet", "stays announced at its other neighbours", "spb1", "40 %", "80 %", "120 %", hostile)
			d.wants(dry)
			form := hiddenOf(t, w.Body.String())
			c.want.RequestId = form.Get("key")
			w = d.post("/maintenance", form)
			if w.Code != http.StatusSeeOther || w.Header().Get("Location") != "/maintenance/w-again" {
				t.Errorf("after the confirmation: %d to %s", w.Code, w.Header().Get("Location"))
			}
			d.wants(dry, c.want)
		})
	}
}

func TestEachPreviewHasAKeyOfItsOwnThatEachSendingOfItKeeps(t *testing.T) {
	d := deskOf(t, fleetAPI(), identity.Operator, nil)
	key := func() string {
		return hiddenOf(t, d.post("/maintenance/preview", filled(nil)).Body.String()).Get("key")
	}
	one, two := key(), key()
	if raw, err := base64.RawURLEncoding.DecodeString(one); err != nil || len(raw) != formKey || one == two {
		t.Errorf("the keys are %q and %q", one, two)
	}
	form := filled(url.Values{"key": {one}})
	for range 2 {
		d.post("/maintenance", form)
	}
	if again := d.post("/maintenance/preview", form); hiddenOf(t, again.Body.String()).Get("key") == one {
		t.Error("a new preview has an old key")
	}
	dry := askedFor(func(r *centralv1.AddWindowRequest) { r.DryRun = true })
	real := askedFor(func(r *centralv1.AddWindowRequest) { r.RequestId = one })
	d.wants(dry, dry, real, real, dry)
}

func TestPreviewSaysOfWhatItIsNotKnownWhereItLands(t *testing.T) {
	for n, want := range map[int][]string{0: {"No load is known that would go elsewhere."}, 1: {"Where this load lands cannot be said:", "text 0 " + hostile}, 12: {"text 9 ", "And 2 more."}} {
		answer := &centralv1.AddWindowResponse{Window: someWindows()[0]}
		for i := range n {
			answer.UnknownLandings = append(answer.UnknownLandings, fmt.Sprintf("text %d %s", i, hostile))
		}
		d := deskOf(t, answering(map[proto.Message]proto.Message{&centralv1.AddWindowRequest{}: answer}), identity.Operator, nil)
		w := d.post("/maintenance/preview", filled(nil))
		d.shows(w, http.StatusOK, want...)
		if text := readText(t, w.Body.String()); strings.Contains(text, "text 10 ") || strings.Contains(text, " more.") != (n > unknownMost) || strings.Contains(text, "No load is known") != (n == 0) {
			t.Errorf("%d texts: %s", n, text)
		}
	}
}

func TestPreviewNamesTheFirstTimes(t *testing.T) {
	d := deskOf(t, fleetAPI(), identity.Operator, nil)
	d.shows(d.post("/maintenance/preview", filled(nil)), http.StatusOK, "The first times", "2026-03-03 12:00:00 UTC", "2026-03-04 12:00:00 UTC", "2026-03-05 12:00:00 UTC")
}

func TestRefusedWindowShowsTheLimitAndTheFormAsItWas(t *testing.T) {
	const text = "node msk1, service video, from 2026-03-01T23:00:00Z: no other node announces video (limit last_announcer)"
	for _, address := range []string{"/maintenance/preview", "/maintenance"} {
		d := deskOf(t, fleetAPI(), identity.Operator, nil)
		d.api.err = refusal(text)
		w := d.post(address, filled(url.Values{"reason": {hostile}}))
		d.shows(w, http.StatusConflict, "Refused. "+text, "In spite of the limits")
		for name, value := range map[string]string{"at": "2026-03-02T02:00", "zone": "Europe/Moscow", "lasts": "2h", "lead": "5m", "reason": hostile, "ticket": "NOC-2", "node": "msk1", "start": "at"} {
			if got := sentBy(t, w.Body.String())[name]; len(got) != 1 || got[0] != value {
				t.Errorf("%s: the form has %s = %q, want %q", address, name, got, value)
			}
		}
	}
}

func TestFormThatIsWrongSaysWhere(t *testing.T) {
	for name, c := range map[string]struct {
		form  url.Values
		err   error
		asks  int
		field string // whose description has the text
		text  string
	}{
		"nobody":         {form: url.Values{"node": nil}, text: "it hits nothing"},
		"all, of whom":   {form: url.Values{"node": nil, "all": {"1"}}, field: "expect", text: "say how many nodes you expect"},
		"all, odd":       {form: url.Values{"node": nil, "all": {"1"}, "expect": {"-3"}}, field: "expect", text: "write a number"},
		"all, too many":  {form: url.Values{"node": nil, "all": {"1"}, "expect": {"99999999999"}}, field: "expect", text: "write a number"},
		"a number alone": {form: url.Values{"expect": {"1"}}, field: "expect", text: "goes with all nodes"},
		"odd label":      {form: url.Values{"label": {"hall"}}, text: "label hall: write KEY=VALUE"},
		"a key twice":    {form: url.Values{"label": {"hall=1", "hall=2"}}, text: "label hall=2: the key stands there twice"},
		"api: all":       {err: status.Error(codes.InvalidArgument, "all would be 2 nodes, and 3 are expected"), asks: 1, field: "expect", text: "all would be 2 nodes"},
		"no time":        {form: url.Values{"at": {""}}, field: "at", text: "choose when the work begins"},
		"no length":      {form: url.Values{"lasts": {" "}}, field: "lasts", text: "every window ends by itself"},
		"odd length":     {form: url.Values{"lasts": {"two hours"}}, field: "lasts", text: "such as 10m, 2h or 1d"},
		"odd lead":       {form: url.Values{"lead": {"-5m"}}, field: "lead", text: "such as 10m, 2h or 1d"},
		"no reason":      {form: url.Values{"reason": {""}}, field: "reason", text: "a reason is needed"},
		"api: start":     {err: status.Error(codes.InvalidArgument, "--start: \"x\" is no time"), asks: 1, field: "at", text: `"x" is no time`},
		"api: zone":      {err: status.Error(codes.InvalidArgument, `zone "Moscow" is not in the time zone database`), asks: 1, field: "zone", text: `zone "Moscow" is not`},
		"api: rule":      {err: status.Error(codes.InvalidArgument, `rule "x": no`), asks: 1, field: "rrule", text: `rule "x": no`},
		"api: two lines": {err: status.Error(codes.InvalidArgument, "the lead is 2d, and may be at most 1d\nsomething else"), asks: 1, field: "lead", text: "may be at most 1d"},
		"api: others":    {err: status.Error(codes.Aborted, "others change the same at the same time; try again"), asks: 1, text: "try again"},
	} {
		t.Run(name, func(t *testing.T) {
			d := deskOf(t, fleetAPI(), identity.Operator, nil)
			d.api.err = c.err
			w := d.post("/maintenance/preview", filled(c.form))
			code := http.StatusUnprocessableEntity
			if status.Code(c.err) == codes.Aborted {
				code = http.StatusConflict
			}
			d.shows(w, code, c.text)
			if n := len(d.api.changes()); n != c.asks {
				t.Errorf("the API was asked %d times, want %d", n, c.asks)
			}
			if said := describedBy(t, w.Body.String(), c.field); c.field != "" && !strings.Contains(said, c.text) {
				t.Errorf("field %s is described by %q, want %q there", c.field, said, c.text)
			}
		})
	}
}

func TestFormMayChooseFromWhatThereIs(t *testing.T) {
	d := deskOf(t, fleetAPI(), identity.Operator, nil)
	w := d.get("/maintenance/new?node=msk1&node=gone")
	d.shows(w, http.StatusOK, "msk1 moscow, announced", "gone not there", "moscow", "transit-a", "video", "hall=2 nodes", "circuit=C-1 neighbours", "All nodes", hostile)
	if got := sentBy(t, w.Body.String()); len(got["node"]) != 2 || got.Get("zone") != "UTC" {
		t.Errorf("the form has %v", got)
	}
	w = d.post("/maintenance/new", filled(url.Values{"start": {"now"}}))
	if got := sentBy(t, w.Body.String()); got.Get("start") != "now" || got.Get("reason") != "new line card" || w.Code != http.StatusOK {
		t.Errorf("the form to change something has %v", got)
	}
	d.wants()
}
