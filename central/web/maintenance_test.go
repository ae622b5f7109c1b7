package web

import (
	"encoding/base64"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	centralv1 "github.com/catchment-bgp/catchment/api/central/v1"
	"github.com/catchment-bgp/catchment/central/identity"
)

// hostile is a text that nobody should believe.
const hostile = `<script>alert(1)</script>"'><img src=x onerror=alert(2)>` + "\u202e"

func at(d time.Duration) *timestamppb.Timestamp { return timestamppb.New(testNow.Add(d)) }

// someWindows are one of each state.
func someWindows() []*centralv1.Window {
	window := func(id, state string, start, length time.Duration) *centralv1.Window {
		w := &centralv1.Window{Id: id, State: state, Selector: &centralv1.Selector{Nodes: []string{"msk1"}}, Nodes: []string{"msk1"}, Start: at(start),
			Duration: durationpb.New(length), Created: at(-48 * time.Hour), Reason: "work of " + id, By: "anna"}
		if start+length > 0 && state != "cancelled" {
			w.NextStart, w.NextEnd = at(start), at(start+length)
		}
		return w
	}
	run := window("w-run", "running", -time.Hour, 3*time.Hour)
	run.Zone, run.LocalStart, run.Lead, run.Ticket = "Europe/Moscow", "2026-03-01 14:00", durationpb.New(10*time.Minute), "NOC-1"
	run.Progress = []*centralv1.WindowProgress{{Node: "msk1", Phase: "safe", Detail: "no traffic"}}
	odd := window("w-odd", "scheduled", 24*time.Hour, time.Hour)
	odd.Reason, odd.By, odd.Ticket, odd.Selector.Nodes, odd.Nodes = hostile, hostile, hostile, []string{hostile}, []string{"a/../b?c#d", hostile}
	odd.Provider = &centralv1.Provider{Name: hostile}
	again := window("w-again", "scheduled", 2*24*time.Hour, 2*time.Hour)
	again.Zone, again.Rrule, again.OverrideSafety = "UTC", "FREQ=DAILY;COUNT=3", true
	maybe := window("w-maybe", "proposed", 36*time.Hour, 4*time.Hour)
	maybe.Provider = &centralv1.Provider{Name: hostile, MaintenanceId: "CHG-7", Status: "CONFIRMED", Impact: "OUTAGE", Objects: []string{"CID-1"}, Lacks: []string{"impact"}}
	over := window("w-over", "ended", -20*time.Hour, time.Hour)
	off := window("w-off", "cancelled", 30*time.Hour, time.Hour)
	off.Ended = at(-time.Hour)
	bad := window("w-bad", "invalid", time.Hour, 0)
	return []*centralv1.Window{run, odd, again, maybe, over, off, bad}
}

func someNodes() []*centralv1.Node {
	return []*centralv1.Node{
		{Name: "msk1", Site: "moscow", State: "announced", Asn: 57629, Services: []*centralv1.ServiceReport{{Name: "video"}}, Neighbors: []*centralv1.EdgeNeighbor{{Name: "transit-a", Kind: "transit", Labels: map[string]string{"circuit": "C-1", "hall": "2"}}},
			Labels: map[string]string{"hall": "2"},
			Tags:   []*centralv1.Tag{{Value: "57629:101", Meaning: "Moscow", Since: at(-time.Hour), By: "anna"}}},
		{Name: hostile, Asn: 57629, State: "withdrawn", Services: []*centralv1.ServiceReport{{Name: "dns"}}, Neighbors: []*centralv1.EdgeNeighbor{{Name: hostile, Kind: "ix"}},
			Tags: []*centralv1.Tag{{Value: "57629:102", Meaning: hostile, By: hostile, Shared: true}}},
	}
}

func fleetAPI() *fakeAPI {
	windows := someWindows()
	return answering(map[proto.Message]proto.Message{
		&centralv1.ListWindowsRequest{}: &centralv1.ListWindowsResponse{Windows: windows},
		&centralv1.GetWindowRequest{}:   windows[0],
		&centralv1.ListNodesRequest{}:   &centralv1.ListNodesResponse{Nodes: someNodes()},
		&centralv1.AddWindowRequest{}: &centralv1.AddWindowResponse{Window: windows[2], Warnings: []string{"video of msk1 stays announced at its other neighbours"},
			Landings: []*centralv1.Landing{{Node: "spb1", Utilization: 0.4, WouldBe: 0.8}, {Node: hostile, Utilization: 0.1, WouldBe: 1.2}}},
		&centralv1.EndWindowRequest{}:     windows[0],
		&centralv1.CancelWindowRequest{}:  windows[0],
		&centralv1.ConfirmWindowRequest{}: &centralv1.AddWindowResponse{Window: windows[3]},
		&centralv1.ImportWindowsRequest{}: &centralv1.ImportWindowsResponse{Proposals: windows[3:4], Problems: []*centralv1.ImportProblem{{File: "mail.eml", Line: 3, Text: hostile, Reason: "no circuit of ours"}}},
	})
}

func TestMaintenanceShowsEveryWindowToWhoMayAndWhoMayNot(t *testing.T) {
	for role, writes := range map[identity.Role]bool{identity.Viewer: false, identity.Operator: true, identity.Admin: true} {
		d := deskOf(t, fleetAPI(), role, nil)
		w := d.get("/maintenance")
		d.shows(w, http.StatusOK, "w-run", "running", "work of w-run", "NOC-1", "2026-03-01 14:00 Europe/Moscow", "lead 10m", "safe", "no traffic",
			"recurs FREQ=DAILY;COUNT=3", "in spite of the limits", "CHG-7", "lacks impact", "proposed", "cancelled", "ended", "invalid", hostile)
		body := w.Body.String()
		if strings.Contains(body, `href="/maintenance/new"`) != writes || strings.Contains(body, `<form method="post" action="/maintenance`) {
			t.Errorf("%s: may plan windows: want %v, and no form that a refresh could replace: %s", role, writes, body)
		}
		if !strings.Contains(body, `href="/nodes/a%2F..%2Fb%3Fc%23d"`) {
			t.Errorf("the link to a node with an odd name leads elsewhere: %s", body)
		}
		if !strings.Contains(body, `data-part="/part/maintenance"`) {
			t.Errorf("the page is not kept up to date: %s", body)
		}
	}
}

func TestMaintenanceAsksForWhatIsOverOnlyWhenTold(t *testing.T) {
	for address, all := range map[string]bool{"/maintenance": false, "/maintenance?all=1": true, "/part/maintenance?all=1&days=30": true, "/maintenance?days=nonsense": false} {
		d := deskOf(t, fleetAPI(), identity.Viewer, nil)
		if w := d.get(address); w.Code != http.StatusOK {
			t.Fatalf("%s: %d", address, w.Code)
		}
		if got, ok := d.api.asked[0].(*centralv1.ListWindowsRequest); !ok || got.GetAll() != all {
			t.Errorf("%s asks %v; want all = %v", address, d.api.asked[0], all)
		}
	}
}

func TestMaintenanceSaysThatThereIsNothing(t *testing.T) {
	d := deskOf(t, answering(nil), identity.Viewer, nil)
	d.shows(d.get("/maintenance"), http.StatusOK, "No window in these days.", "No window runs or is to come.")
	d.shows(d.get("/maintenance?all=1"), http.StatusOK, "There has been no window yet.")
}

func TestMaintenancePassesOnThatTheCentreCannotAnswer(t *testing.T) {
	d := deskOf(t, answering(nil), identity.Operator, nil)
	d.api.readErr = status.Error(codes.Unavailable, "the store does not answer")
	d.shows(d.get("/maintenance"), http.StatusServiceUnavailable, "the store does not answer")
	d.shows(d.get("/maintenance/new"), http.StatusServiceUnavailable, "the store does not answer")
	if w := d.get("/part/maintenance"); w.Code != http.StatusServiceUnavailable || !strings.Contains(w.Body.String(), "the store does not answer") {
		t.Errorf("the part: %d %s", w.Code, w.Body)
	}
}

func TestWindowShowsWhatItsStateAllows(t *testing.T) {
	for i, want := range map[int]struct{ end, cancel, confirm bool }{
		0: {end: true, cancel: true}, 1: {cancel: true}, 3: {cancel: true, confirm: true}, 4: {}, 5: {}, 6: {},
	} {
		for _, role := range []identity.Role{identity.Viewer, identity.Operator} {
			api := fleetAPI()
			m := someWindows()[i]
			*api = *answering(map[proto.Message]proto.Message{&centralv1.GetWindowRequest{}: m})
			d := deskOf(t, api, role, nil)
			w := d.get("/maintenance/" + m.GetId())
			d.shows(w, http.StatusOK, m.GetId(), m.GetState(), m.GetReason())
			writes := role != identity.Viewer
			for verb, may := range map[string]bool{"end": want.end, "cancel": want.cancel, "confirm": want.confirm} {
				if got := strings.Contains(w.Body.String(), `href="/maintenance/`+m.GetId()+"/"+verb+`"`); got != (may && writes) {
					t.Errorf("%s, %s: may %s: %v", m.GetId(), role, verb, got)
				}
			}
		}
	}
}

func TestWindowThatIsNotThere(t *testing.T) {
	d := deskOf(t, fleetAPI(), identity.Viewer, nil)
	d.api.err = status.Error(codes.NotFound, `there is no window "w-x"`)
	d.shows(d.get("/maintenance/w-x"), http.StatusNotFound, `there is no window "w-x"`)
}

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

func TestViewerMeetsNoFormAndTheRefusalOfTheAPI(t *testing.T) {
	for _, address := range []string{"/maintenance/new", "/maintenance/import", "/maintenance/w-run/end", "/maintenance/w-run/cancel", "/maintenance/w-run/confirm", "/fleet/freeze", "/fleet/thaw"} {
		d := deskOf(t, fleetAPI(), identity.Viewer, nil)
		w := d.get(address)
		d.shows(w, http.StatusForbidden, "This is for operators and admins", "viewer")
		if strings.Contains(w.Body.String(), "<button") && strings.Contains(w.Body.String(), address) {
			t.Errorf("%s shows a form: %s", address, w.Body)
		}
		d.wants()
		if address == "/maintenance/new" {
			continue
		}
		d.api.err = status.Error(codes.PermissionDenied, "noc/anna is a viewer; this takes an operator")
		d.shows(d.post(address, url.Values{"reason": {"because"}, "text": {"a mail"}}), http.StatusForbidden, "this takes an operator")
	}
}

func TestFormWithoutItsTokenAsksNothing(t *testing.T) {
	for _, address := range []string{"/maintenance/new", "/maintenance/preview", "/maintenance", "/maintenance/import", "/maintenance/w-run/end", "/maintenance/w-run/cancel",
		"/maintenance/w-run/confirm", "/fleet/freeze", "/fleet/thaw", "/communities"} {
		for _, token := range [][]string{nil, {""}, {"wrong"}, {tokenOf("of another browser")}} {
			d := deskOf(t, fleetAPI(), identity.Admin, nil)
			form := filled(url.Values{"text": {"57629:101"}, tokenField: token})
			d.shows(d.postAs(address, form), http.StatusForbidden, "not of this page")
			if len(d.api.asked) != 0 {
				t.Errorf("%s with token %q: the API was asked %v", address, token, d.api.asked)
			}
		}
	}
}

func TestActsSayWhyAndGoBack(t *testing.T) {
	why := url.Values{"reason": {" done early "}, "ticket": {"NOC-3"}}
	for address, c := range map[string]struct {
		more url.Values
		want proto.Message
		back string
		free bool // the reason may be left out
	}{
		"/maintenance/w-run/end":    {want: &centralv1.EndWindowRequest{Id: "w-run", Reason: "done early", Ticket: "NOC-3"}, back: "/maintenance/w-run", free: true},
		"/maintenance/w-run/cancel": {want: &centralv1.CancelWindowRequest{Id: "w-run", Reason: "done early", Ticket: "NOC-3"}, back: "/maintenance/w-run", free: true},
		"/maintenance/w-run/confirm": {more: url.Values{"lead": {"5m"}, "override": {"1"}}, back: "/maintenance/w-run",
			want: &centralv1.ConfirmWindowRequest{Id: "w-run", Lead: durationpb.New(5 * time.Minute), Reason: "done early", Ticket: "NOC-3", OverrideSafety: true}},
		"/fleet/freeze": {want: &centralv1.FreezeRequest{Reason: "done early", Ticket: "NOC-3"}, back: "/"},
		"/fleet/thaw":   {want: &centralv1.ThawRequest{Reason: "done early", Ticket: "NOC-3"}, back: "/"},
	} {
		t.Run(address, func(t *testing.T) {
			form := url.Values{}
			for _, all := range []url.Values{why, c.more} {
				for name, values := range all {
					form[name] = values
				}
			}
			d := deskOf(t, fleetAPI(), identity.Operator, nil)
			d.shows(d.get(address), http.StatusOK, "Reason", "Ticket", "Back")
			d.wants()
			w := d.post(address, form)
			if w.Code != http.StatusSeeOther || w.Header().Get("Location") != c.back {
				t.Errorf("afterwards: %d to %s, want %s", w.Code, w.Header().Get("Location"), c.back)
			}
			d.wants(c.want)

			d = deskOf(t, fleetAPI(), identity.Operator, nil)
			d.api.err = refusal("no (limit last_announcer)")
			w = d.post(address, form)
			d.shows(w, http.StatusConflict, "Refused. no (limit last_announcer)")
			if got := sentBy(t, w.Body.String()); got.Get("reason") != " done early " || got.Get("ticket") != "NOC-3" || got.Get("lead") != form.Get("lead") || got.Get("override") != form.Get("override") {
				t.Errorf("the form was forgotten: %v", got)
			}

			d = deskOf(t, fleetAPI(), identity.Operator, nil)
			w = d.post(address, url.Values{})
			if asked := len(d.api.changes()) > 0; asked != c.free {
				t.Errorf("without a reason the API was asked: %v, want %v", asked, c.free)
			}
			if !c.free {
				d.shows(w, http.StatusUnprocessableEntity, "a reason is needed")
			}
		})
	}
}

func TestActThatIsWrongSaysWhy(t *testing.T) {
	d := deskOf(t, fleetAPI(), identity.Operator, nil)
	d.shows(d.post("/maintenance/w-run/confirm", url.Values{"reason": {"x"}, "lead": {"soon"}}), http.StatusUnprocessableEntity, noDuration)
	d.wants()
	d.api.err = status.Error(codes.InvalidArgument, "window w-run is no proposal")
	d.shows(d.post("/maintenance/w-run/confirm", url.Values{"reason": {"x"}}), http.StatusUnprocessableEntity, "window w-run is no proposal")
	d.api.err = errors.New("broken")
	d.shows(d.post("/maintenance/w-run/end", nil), http.StatusInternalServerError, "broken")
}
