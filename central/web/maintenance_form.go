package web

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	centralv1 "github.com/catchment-bgp/catchment/api/central/v1"
	"github.com/catchment-bgp/catchment/maintenance"
)

// field is one line of a form.
type field struct {
	Name, Label, Hint string
	Value, Type       string
	Fault             string
	Needed            bool
	List              string // id of what may be chosen from
}

// By are the ids of what describes the field.
func (f field) By() string {
	var ids []string
	if f.Hint != "" {
		ids = append(ids, f.Name+"-hint")
	}
	if f.Fault != "" {
		ids = append(ids, f.Name+"-fault")
	}
	return strings.Join(ids, " ")
}

// planView is the form of a new window.
type planView struct {
	Groups  []choiceGroup
	All     bool // it is for every node
	Now     bool // it starts now
	Fields  map[string]field
	Zones   []string
	Fault   string // of the whole
	Refused string // by which limit
	Whom    string // what is wrong with whom it is for
	// Override is whether limits shall not count.
	Override bool
}

// planFields are the names of a form's single fields.
var planFields = []string{"expect", "at", "zone", "lasts", "lead", "rrule", "reason", "ticket"}

// planOf makes the form, filled as values say.
func planOf(values url.Values, faults map[string]string) planView {
	v := planView{All: values.Get("all") != "", Now: values.Get("start") == "now", Override: values.Get("override") != "", Fields: map[string]field{}, Fault: faults[""], Whom: faults["whom"]}
	for _, f := range []field{
		{Name: "expect", Label: "How many nodes you expect", Hint: "With all nodes only: are there more or fewer, nothing is done", Type: "number"},
		{Name: "at", Label: "Date and time", Type: "datetime-local"},
		{Name: "zone", Label: "Time zone", Hint: "Such as Europe/Moscow or UTC", List: "zones"},
		{Name: "lasts", Label: "Lasts", Hint: "Such as 30m, 2h or 1d", Needed: true},
		{Name: "lead", Label: "Lead", Hint: "How long before the start clients are asked to leave, such as 5m"},
		{Name: "rrule", Label: "Recurs", Hint: "A rule of RFC 5545, such as FREQ=WEEKLY;BYDAY=TU. Empty: once"},
		{Name: "reason", Label: "Reason", Hint: "What is done, in a few words", Needed: true},
		{Name: "ticket", Label: "Ticket", Hint: "May be left out"},
	} {
		f.Value, f.Fault = values.Get(f.Name), faults[f.Name]
		v.Fields[f.Name] = f
	}
	if _, sent := values["zone"]; !sent {
		zone := v.Fields["zone"]
		zone.Value = "UTC"
		v.Fields["zone"] = zone
	}
	return v
}

// planRequest is what a form asks for. faults are by field; the request is of use only
// where there are none.
func planRequest(values url.Values) (*centralv1.AddWindowRequest, map[string]string) {
	get := func(name string) string { return strings.TrimSpace(values.Get(name)) }
	whom, faults := chosenOf(values)
	r := &centralv1.AddWindowRequest{Selector: whom, Rrule: get("rrule"), Reason: get("reason"), Ticket: get("ticket"), OverrideSafety: values.Get("override") != ""}
	switch r.Start = "now"; {
	case values.Get("start") != "now":
		// Browsers write a T between the date and the time.
		r.Start, r.Zone = strings.Replace(get("at"), "T", " ", 1), get("zone")
	case r.Rrule != "":
		r.Zone = get("zone")
	}
	if r.Start == "" {
		faults["at"] = "choose when the work begins"
	}
	for _, name := range []string{"lasts", "lead"} {
		text := get(name)
		if text == "" {
			continue
		}
		d, err := maintenance.ParseDuration(text)
		switch {
		case err != nil:
			faults[name] = noDuration
		case name == "lasts":
			r.Duration = durationpb.New(d.Std())
		case d > 0:
			r.Lead = durationpb.New(d.Std())
		}
	}
	if get("lasts") == "" {
		faults["lasts"] = "say how long: every window ends by itself"
	}
	if r.Reason == "" {
		faults["reason"] = noReason
	}
	return r, faults
}

// faultOf has how lines of the API's errors begin, and of which field those are.
var faultOf = []struct{ begins, field string }{
	{"--start: ", "at"}, {"--for: ", "lasts"}, {"--lead: ", "lead"}, {"--reason: ", "reason"},
	{"the start", "at"}, {"the length", "lasts"}, {"the lead", "lead"}, {"the reason", "reason"}, {"a reason", "reason"}, {"the ticket", "ticket"},
	{"rule ", "rrule"}, {"zone ", "zone"}, {"no zone", "zone"},
	{"all would be ", "expect"}, {"the expected number ", "expect"}, {"all nodes, ", "whom"}, {"label ", "whom"},
	{"node ", "whom"}, {"site ", "whom"}, {"neighbour ", "whom"}, {"service ", "whom"}, {"the window is for nothing", "whom"}, {"each entry is there", "whom"},
}

// faultsOf ties what the API says is wrong to the fields; the rest is of the whole form.
func faultsOf(message string) map[string]string {
	out := map[string]string{}
	for _, line := range strings.Split(message, "\n") {
		name := ""
		for _, f := range faultOf {
			if rest, ok := strings.CutPrefix(line, f.begins); ok {
				name = f.field
				if strings.HasPrefix(f.begins, "--") {
					line = rest
				}
				break
			}
		}
		if out[name] != "" {
			line = out[name] + "; " + line
		}
		out[name] = line
	}
	return out
}

// showPlan shows the form of a new window, with what there is to choose from.
func (s *Site) showPlan(w http.ResponseWriter, r *http.Request, code int, values url.Values, faults map[string]string, refused string) {
	nodes, err := s.cfg.Fleet.ListNodes(r.Context(), &centralv1.ListNodesRequest{})
	if err != nil {
		s.failed(w, r, err)
		return
	}
	v := planOf(values, faults)
	v.Refused = refused
	v.Groups = groupsOf(nodes.GetNodes(), values)
	v.Zones = s.zones(r.Context())
	s.show(w, r, code, "plan", layout{Title: "Plan a window", Section: "maintenance", Body: v})
}

// zones are those in use, for who types one.
func (s *Site) zones(ctx context.Context) []string {
	out := []string{"UTC"}
	m, err := s.cfg.Fleet.ListWindows(ctx, &centralv1.ListWindowsRequest{All: true})
	if err != nil {
		return out // it only saves typing
	}
	for _, w := range m.GetWindows() {
		if z := w.GetZone(); z != "" && !slices.Contains(out, z) {
			out = append(out, z)
		}
	}
	slices.Sort(out)
	return out
}

// plan shows an empty form; an address may choose whom it is for (?node=msk1).
func (s *Site) plan(w http.ResponseWriter, r *http.Request) {
	s.showPlan(w, r, http.StatusOK, r.URL.Query(), nil, "")
}

// planAgain shows the form as it was filled, to change something.
func (s *Site) planAgain(w http.ResponseWriter, r *http.Request) {
	s.showPlan(w, r, http.StatusOK, r.PostForm, nil, "")
}

// unknownMost is how many texts of what is not known a page has.
const unknownMost = 10

// previewView is what a window would do.
type previewView struct {
	Window   windowView
	Warnings []string
	During   []duringView
	Landings []landingView
	// Unknown says of what it cannot be told where it lands, and MoreUnknown how many more
	// such texts there are.
	Unknown     []string
	MoreUnknown int
	Key         string // of this form: sent twice, it makes one window
	Values      []pair // of the form, to be sent again
}

type landingView struct {
	nodeLink
	Now, WouldBe float64
}

type pair struct{ Name, Value string }

// preview says what a window would do, and makes none.
func (s *Site) preview(w http.ResponseWriter, r *http.Request) {
	m, ok := s.ask(w, r, true)
	if !ok {
		return
	}
	v := previewView{Key: random(formKey), Window: viewOf(m.GetWindow()), Warnings: m.GetWarnings()}
	v.During = during(s.cfg.Source.Status(), m.GetWindow())
	v.Window.Coming = coming(m.GetWindow(), s.now())
	for _, l := range m.GetLandings() {
		v.Landings = append(v.Landings, landingView{toNode(l.GetNode()), l.GetUtilization(), l.GetWouldBe()})
	}
	v.Unknown = m.GetUnknownLandings()
	if more := len(v.Unknown) - unknownMost; more > 0 {
		v.Unknown, v.MoreUnknown = v.Unknown[:unknownMost], more
	}
	for _, name := range append(append([]string{"all", "start", "override"}, listFields...), planFields...) {
		for _, value := range r.PostForm[name] {
			v.Values = append(v.Values, pair{name, value})
		}
	}
	s.show(w, r, http.StatusOK, "preview", layout{Title: "Confirm the window", Section: "maintenance", Body: v})
}

// addWindow makes the window.
func (s *Site) addWindow(w http.ResponseWriter, r *http.Request) {
	if m, ok := s.ask(w, r, false); ok {
		http.Redirect(w, r, toWindow(m.GetWindow().GetId()), http.StatusSeeOther)
	}
}

// ask asks the API for the window of a form. Where it is none, or refused, the form is
// shown again with the reason, and ok is false.
func (s *Site) ask(w http.ResponseWriter, r *http.Request, dry bool) (m *centralv1.AddWindowResponse, ok bool) {
	ask, faults := planRequest(r.PostForm)
	if len(faults) > 0 {
		s.showPlan(w, r, http.StatusUnprocessableEntity, r.PostForm, faults, "")
		return nil, false
	}
	if ask.DryRun = dry; !dry {
		ask.RequestId = r.PostForm.Get("key")
	}
	m, err := s.cfg.Fleet.AddWindow(r.Context(), ask)
	switch st := status.Convert(err); st.Code() {
	case codes.OK:
		return m, true
	case codes.FailedPrecondition:
		s.showPlan(w, r, http.StatusConflict, r.PostForm, nil, st.Message())
	case codes.InvalidArgument, codes.Aborted:
		s.showPlan(w, r, httpCode(st.Code()), r.PostForm, faultsOf(st.Message()), "")
	default:
		s.failed(w, r, err)
	}
	return nil, false
}
