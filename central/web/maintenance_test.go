package web

import (
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
