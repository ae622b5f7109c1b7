package web

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	centralv1 "github.com/catchment-bgp/catchment/api/central/v1"
	"github.com/catchment-bgp/catchment/central/identity"
)

// aNodesDesk is the page of msk1 with an operator's word in force.
func aNodesDesk(t *testing.T, role identity.Role) *desk {
	word := &centralv1.FleetOverride{Id: "o-1", Verb: "drain", Selector: &centralv1.Selector{Nodes: []string{"msk1"}}, Reason: "a line card", By: "noc/olga", Since: when(time.Hour)}
	other := &centralv1.FleetOverride{Id: "o-2", Verb: "withdraw", Selector: &centralv1.Selector{Nodes: []string{"spb1"}}, Reason: "elsewhere", By: "noc/olga"}
	return deskOf(t, answering(map[proto.Message]proto.Message{
		(*centralv1.GetNodeRequest)(nil):            &centralv1.NodeDetail{Node: aNode("msk1", "moscow", "draining", "override")},
		(*centralv1.ListFleetOverridesRequest)(nil): &centralv1.ListFleetOverridesResponse{Overrides: []*centralv1.FleetOverride{word, other}},
	}), role, nil)
}

func TestAnOperatorSaysWhatANodeShallDoAndEndsIt(t *testing.T) {
	d := aNodesDesk(t, identity.Operator)
	page := d.get("/nodes/msk1")
	d.shows(page, http.StatusOK, "msk1", "a line card", "by noc/olga", "Ask for it")
	if strings.Contains(page.Body.String(), "elsewhere") || strings.Contains(page.Body.String(), `http-equiv="refresh"`) {
		t.Error("the page shows another node's word, or would empty a form that is being filled in")
	}
	d.shows(d.post("/nodes/msk1/override", url.Values{"verb": {"drain"}, "reason": {"a disk"}, "for": {"90m"}, "ticket": {"T-1"}}), http.StatusSeeOther)
	d.shows(d.post("/nodes/msk1/override", url.Values{"clear": {"o-1"}, "reason": {"done"}}), http.StatusSeeOther)
	d.wants(
		&centralv1.SetFleetOverrideRequest{Selector: &centralv1.Selector{Nodes: []string{"msk1"}}, Verb: "drain", Reason: "a disk", Ticket: "T-1", Duration: durationpb.New(90 * time.Minute)},
		&centralv1.ClearFleetOverrideRequest{Id: "o-1", Reason: "done"})
}

func TestARefusedWordShowsTheLimitAndWhatWasAsked(t *testing.T) {
	d := aNodesDesk(t, identity.Operator)
	d.shows(d.post("/nodes/msk1/override", url.Values{"verb": {"drain"}, "reason": {"a disk"}, "for": {"soon"}}), http.StatusUnprocessableEntity, "for how long")
	d.wants()
	d.api.err = refusal("video: 1 of 2 nodes announce (limit min_announcing)")
	page := d.post("/nodes/msk1/override", url.Values{"verb": {"withdraw"}, "reason": {"a <disk>"}})
	d.shows(page, http.StatusConflict, "(limit min_announcing)")
	if text := page.Body.String(); !strings.Contains(text, `value="a &lt;disk&gt;"`) || !strings.Contains(text, "<option selected>withdraw") {
		t.Errorf("the form has lost what was asked: %s", text)
	}
}

func TestAViewerOfANodeHasNoForms(t *testing.T) {
	d := aNodesDesk(t, identity.Viewer)
	page := d.get("/nodes/msk1")
	d.shows(page, http.StatusOK, "msk1")
	if strings.Contains(page.Body.String(), "/override") || !strings.Contains(page.Body.String(), `http-equiv="refresh"`) {
		t.Error("a viewer is shown forms, or a page that never changes without JavaScript")
	}
}

func TestWhatIsNoTextIsRefusedBeforeTheAPIIsAsked(t *testing.T) {
	d := aNodesDesk(t, identity.Operator)
	for _, address := range []string{"/nodes/%ff", "/part/nodes/%ff", "/maintenance/%ff", "/part/maintenance/%ff", "/audit?who=%ff", "/audit?%ff=a", "/login?then=%ff"} {
		d.shows(d.get(address), http.StatusBadRequest, "no text in UTF-8")
	}
	for address, form := range map[string]url.Values{
		"/nodes/msk1/override": {"verb": {"drain"}, "reason": {"\xff"}},
		"/fleet/freeze":        {"reason": {"a"}, "ticket": {"\xc0\x80"}},
		"/maintenance":         {"node": {"msk1", "\xed\xa0\x80"}, "lasts": {"1h"}, "reason": {"a"}},
	} {
		d.shows(d.post(address, form), http.StatusUnprocessableEntity, "no text in UTF-8")
	}
	d.wants()
}
