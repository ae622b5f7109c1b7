package web

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	centralv1 "github.com/catchment-bgp/catchment/api/central/v1"
	"github.com/catchment-bgp/catchment/central/identity"
)

func someRecords() []*centralv1.AuditRecord {
	return []*centralv1.AuditRecord{
		{Number: 9, At: at(-time.Minute), Who: "noc/anna", Role: "operator", Method: "AddWindow", Target: "w-a", Outcome: "done", Reason: "line card", Ticket: "NOC-1", Hash: "abc",
			After: `{"id":"w-a","select":{"nodes":["msk1"]}}`},
		{Number: 8, At: at(-time.Hour), Who: hostile, Method: "SetNode", Target: hostile, Outcome: "done", Reason: hostile, Ticket: hostile, Detail: hostile, Hash: "def",
			Before: `{"disabled":false,"site":"moscow"}`, After: `{"disabled":true,"site":"moscow","note":` + `"` + "<b>" + `"}`},
		{Number: 7, At: at(-2 * time.Hour), Who: "noc/eve", Method: "AddWindow", Target: "w-no", Outcome: "refused", Detail: "no other node announces video (limit last_announcer)"},
		{Number: 6, At: at(-3 * time.Hour), Who: "unknown", Method: "TagNode", Target: "msk1", Outcome: "denied", Before: "no JSON"},
		{Number: 5, At: at(-4 * time.Hour), Who: "msk1", Role: "edge", Method: "grant", Target: "msk1/video", Outcome: "done"},
	}
}

func auditDesk(t *testing.T) *desk {
	return deskOf(t, answering(map[proto.Message]proto.Message{
		&centralv1.ListAuditRequest{}:   &centralv1.ListAuditResponse{Records: someRecords()},
		&centralv1.VerifyAuditRequest{}: &centralv1.VerifyAuditResponse{Ok: true, Records: 7, HeadHash: "abc", Pruned: 2, PrunedHash: "old", PrunedAt: at(-24 * time.Hour)},
	}), identity.Viewer, nil)
}

func TestAuditShowsWhoDidWhatAndWhatItChanged(t *testing.T) {
	d := auditDesk(t)
	w := d.get("/audit")
	d.shows(w, http.StatusOK, "noc/anna", "AddWindow w-a", "line card", "NOC-1", "2026-03-01 11:59:00 UTC", "2 changes", "select › nodes › 1", "disabled false true",
		"1 value stayed.", "no other node announces video (limit last_announcer)", "denied", hostile)
	for link, there := range map[string]bool{`href="/maintenance/w-a"`: true, `href="/maintenance/w-no"`: false, `href="/nodes/msk1"`: true, `href="/nodes/%3Cscript%3Ealert%281%29%3C`: true,
		`href="/audit?who=noc%2Fanna"`: true} {
		if strings.Contains(w.Body.String(), link) != there {
			t.Errorf("the page has %s: %v, want %v", link, !there, there)
		}
	}
	if _, verified := d.api.asked[len(d.api.asked)-1].(*centralv1.VerifyAuditRequest); verified {
		t.Error("the chain is checked without being asked to")
	}
}

func TestAuditAsksForWhatTheFilterSays(t *testing.T) {
	for address, want := range map[string]*centralv1.ListAuditRequest{
		"/audit":                              {Limit: auditPage},
		"/audit?who=+noc%2Fanna+&target=msk1": {Limit: auditPage, Who: "noc/anna", Target: "msk1"},
		"/audit?before=12&target=w-a":         {Limit: auditPage, Target: "w-a", Before: 12},
	} {
		d := auditDesk(t)
		if w := d.get(address); w.Code != http.StatusOK {
			t.Errorf("%s: %d", address, w.Code)
		}
		if len(d.api.asked) != 1 || !proto.Equal(d.api.asked[0], want) {
			t.Errorf("%s asks %v, want %v", address, d.api.asked, want)
		}
	}
	d := auditDesk(t)
	d.shows(d.get("/audit?before=x"), http.StatusUnprocessableEntity, "number of a record")
	if len(d.api.asked) != 0 {
		t.Errorf("the API was asked %v", d.api.asked)
	}
}

func TestAuditGoesOnToOlderRecords(t *testing.T) {
	var all []*centralv1.AuditRecord
	for i := range auditPage {
		all = append(all, &centralv1.AuditRecord{Number: uint64(100 - i), At: at(0), Method: "SetNode", Outcome: "done"})
	}
	d := deskOf(t, answering(map[proto.Message]proto.Message{&centralv1.ListAuditRequest{}: &centralv1.ListAuditResponse{Records: all}}), identity.Viewer, nil)
	w := d.get("/audit?before=101&who=anna")
	for _, link := range []string{`href="/audit?before=51&amp;who=anna"`, `href="/audit?who=anna"`} {
		if !strings.Contains(w.Body.String(), link) {
			t.Errorf("the page lacks %s", link)
		}
	}
	if w := auditDesk(t).get("/audit"); strings.Contains(w.Body.String(), "Older records") {
		t.Error("the last page leads on")
	}
}

func TestAuditSaysThatThereIsNothing(t *testing.T) {
	d := deskOf(t, answering(nil), identity.Viewer, nil)
	d.shows(d.get("/audit"), http.StatusOK, "Nothing has been done yet.")
	d.shows(d.get("/audit?who=x"), http.StatusOK, "No record is like that.")
	d.api.err = status.Error(codes.Unavailable, "the store does not answer")
	d.shows(d.get("/audit"), http.StatusServiceUnavailable, "the store does not answer")
}

func TestAuditVerifiesInWords(t *testing.T) {
	d := auditDesk(t)
	d.shows(d.get("/audit?verify=1&who=noc/anna"), http.StatusOK, "7 records, each as it was written.", "Records 1 to 2 were pruned on 28 Feb 12:00 UTC; the last of them had the hash old.", "The last is 9.", "abc")
	broken := deskOf(t, answering(map[proto.Message]proto.Message{&centralv1.VerifyAuditRequest{}: &centralv1.VerifyAuditResponse{BrokenAt: 4, Detail: "its hash is not that of what stands there"}}), identity.Viewer, nil)
	w := broken.get("/audit?verify=1")
	broken.shows(w, http.StatusOK, "The audit log is not what was written: record 4: its hash is not that of what stands there")
	if !strings.Contains(w.Body.String(), `class="fault" role="alert"`) {
		t.Error("a broken chain looks like a whole one")
	}
}

func TestChangesOfAreWhatDiffers(t *testing.T) {
	for name, c := range map[string]struct {
		before, after string
		want          string // PATH BEFORE>AFTER, ...
		same          int
	}{
		"nothing":     {"", "", "", 0},
		"made":        {"", `{"a":1,"b":{"c":"x"}}`, "a >1, b › c >x", 0},
		"deleted":     {`{"a":1}`, "", "a 1>", 0},
		"changed":     {`{"a":1,"b":[1,2]}`, `{"a":1,"b":[1,3,4]}`, "b › 2 2>3, b › 3 >4", 2},
		"big numbers": {`{"a":18446744073709551615}`, `{"a":18446744073709551614}`, "a 18446744073709551615>18446744073709551614", 0},
		"null, true":  {`{"a":null}`, `{"a":true}`, "a null>true", 0},
		"no JSON":     {"x", "y", "value x>y", 0},
		"one value":   {"1", `"1"`, "", 1},
		"deep":        {strings.Repeat("[", 30) + strings.Repeat("]", 30), "", strings.TrimSuffix(strings.Repeat("1 › ", maxDepth), " › ") + " " + strings.Repeat("[", 18) + strings.Repeat("]", 18) + ">", 0},
	} {
		changes, same := changesOf(c.before, c.after)
		var got []string
		for _, x := range changes {
			got = append(got, x.Path+" "+x.Before+">"+x.After)
		}
		if strings.Join(got, ", ") != c.want || same != c.same {
			t.Errorf("%s: %q and %d the same, want %q and %d", name, strings.Join(got, ", "), same, c.want, c.same)
		}
	}
}

func TestRecordsLeadToWhatTheyAreAbout(t *testing.T) {
	for _, c := range []struct{ method, target, outcome, want string }{
		{"TagNode", "msk1", "done", "/nodes/msk1"},
		{"TagNode", "msk1", "refused", "/nodes/msk1"},
		{"TagNode", "msk1", "denied", ""},
		{"SetNode", "a b?", "done", "/nodes/a%20b%3F"},
		{"grant", "msk1/video", "done", "/nodes/msk1"},
		{"RevokeGrant", "msk1/video", "done", "/nodes/msk1"},
		{"RevokeGrant", "video.16777218", "refused", ""},
		{"AddWindow", "w-a", "done", "/maintenance/w-a"},
		{"AddWindow", "w-a", "refused", ""},
		{"ConfirmWindow", "w-a", "refused", "/maintenance/w-a"},
		{"EndWindow", "w-a", "done", "/maintenance/w-a"},
		{"ImportWindows", "w-a", "done", "/maintenance/w-a"},
		{"ImportWindows", "mail.eml", "refused", ""},
		{"recall", "", "done", ""},
		{"Freeze", "fleet", "done", ""},
		{"deny", "anything", "denied", ""},
	} {
		if got := pageOf(c.method, c.target, c.outcome); got != c.want {
			t.Errorf("%s of %q, %s: %q, want %q", c.method, c.target, c.outcome, got, c.want)
		}
	}
}
