package web

import (
	"cmp"
	"context"
	"html/template"
	"net/http"
	"net/url"
	"slices"
	"time"

	centralv1 "github.com/catchment-bgp/catchment/api/central/v1"
	edgev1 "github.com/catchment-bgp/catchment/api/edge/v1"
	"github.com/catchment-bgp/catchment/community"
	"github.com/catchment-bgp/catchment/community/registry"
)

// nodePage is what the page of a node shows.
type nodePage struct {
	Row       nodeRow
	Node      *centralv1.Node
	Status    *edgev1.StatusResponse // nil: it has said nothing
	At        time.Time              // of Status
	Services  []serviceView
	Charts    []chartView
	Decisions []decisionView
	LeftOut   []string
}

type serviceView struct {
	*edgev1.Service
	Tone      tone
	Neighbors []neighborView
}

type neighborView struct {
	*edgev1.Neighbor
	Tone   tone
	Kind   string
	Routes []routeView
}

// routeView is a route as the neighbour has it.
type routeView struct {
	*edgev1.Route
	// Length is how many AS numbers the neighbour sees.
	Length int
	Values []valueView
}

type valueView struct{ Value, Meaning string }

// chartView is the load of a link over a day.
type chartView struct {
	Link  string
	Image template.HTML
	Marks []decisionView // decisions on the curve, oldest first
}

// decisionView is one decision with what it was made of.
type decisionView struct {
	Mark               int // its number on the curves; 0: it is on none
	At                 time.Time
	About, Change, Why string
	Inputs             []string
}

func (s *Site) nodeRoutes() {
	s.mux.HandleFunc("GET /nodes/{name}", s.seen(s.node))
	s.mux.HandleFunc("GET /part/nodes/{name}", s.seen(s.nodePart))
	s.mux.HandleFunc("POST /nodes/{name}/override", s.seen(s.form(s.nodeOverride)))
}

// nodeText draws what changes on a node's page.
func (s *Site) nodeText(ctx context.Context, name string) ([]byte, error) {
	d, err := s.cfg.Fleet.GetNodeDetail(ctx, &centralv1.GetNodeRequest{Name: name})
	if err != nil {
		return nil, err
	}
	return s.draw("node", "live", nodeView(d, s.known, s.now()))
}

// nodeForms is what the forms of a node's page need.
type nodeForms struct {
	Name  string
	Words []*centralv1.FleetOverride // that are for this node alone
	Fault string
	Asked url.Values // what was asked for, and refused
}

func (s *Site) node(w http.ResponseWriter, r *http.Request) {
	s.showNode(w, r, http.StatusOK, "", nil)
}

func (s *Site) showNode(w http.ResponseWriter, r *http.Request, code int, fault string, asked url.Values) {
	name := r.PathValue("name")
	text, err := s.nodeText(r.Context(), name)
	if err != nil {
		s.failed(w, r, err)
		return
	}
	words, err := s.cfg.Fleet.ListFleetOverrides(r.Context(), &centralv1.ListFleetOverridesRequest{})
	if err != nil {
		s.failed(w, r, err)
		return
	}
	forms := nodeForms{Name: name, Fault: fault, Asked: asked}
	for _, o := range words.GetOverrides() {
		if slices.Equal(o.GetSelector().GetNodes(), []string{name}) {
			forms.Words = append(forms.Words, o)
		}
	}
	s.show(w, r, code, "node", layout{Title: name, Section: "fleet", Part: "/part/nodes/" + url.PathEscape(name), Live: template.HTML(text), Body: forms,
		Writing: layout{Who: peerOf(r)}.May()})
}

func (s *Site) nodePart(w http.ResponseWriter, r *http.Request) {
	text, err := s.nodeText(r.Context(), r.PathValue("name"))
	if err != nil {
		http.Error(w, err.Error(), http.StatusNotFound)
		return
	}
	part(w, r, text)
}

// nodeView makes the page of a node.
func nodeView(d *centralv1.NodeDetail, known *registry.Registry, now time.Time) nodePage {
	n := d.GetNode()
	p := nodePage{Row: rowOf(n, now), Node: n, Status: d.GetDetail().GetStatus(), LeftOut: d.GetDetail().GetLeftOut()}
	if d.GetAt() != nil {
		p.At = d.GetAt().AsTime()
	}
	say := meanings{known: known, tags: map[string]string{}}
	for _, t := range n.GetTags() {
		say.tags[t.GetValue()] = t.GetMeaning()
	}
	kinds := map[string]string{}
	for _, nb := range n.GetNeighbors() {
		kinds[nb.GetName()] = nb.GetKind()
	}
	for _, svc := range p.Status.GetServices() {
		v := serviceView{Service: svc, Tone: tones[svc.GetState()]}
		for _, nb := range svc.GetNeighbors() {
			v.Neighbors = append(v.Neighbors, neighborOf(nb, kinds[nb.GetName()], say))
		}
		p.Services = append(p.Services, v)
	}
	p.Decisions = decisionsOf(d.GetDetail())
	p.Charts = charts(d.GetDetail(), n.GetLinks(), p.Decisions, now)
	return p
}

func neighborOf(nb *edgev1.Neighbor, kind string, say meanings) neighborView {
	v := neighborView{Neighbor: nb, Kind: kind, Tone: tones[nb.GetState()]}
	if v.Tone == calm && !nb.GetSettled() {
		v.Tone = warm
	}
	for _, r := range nb.GetRoutes() {
		rv := routeView{Route: r, Length: int(r.GetPrepend()) + 1}
		if kind == "internal" {
			rv.Length = 0
		}
		for _, c := range r.GetCommunities() {
			rv.Values = append(rv.Values, valueView{c, say.of(c)})
		}
		v.Routes = append(v.Routes, rv)
	}
	return v
}

// meanings says what communities mean here: by the node's tags, then by documents.
type meanings struct {
	known *registry.Registry
	tags  map[string]string
}

func (m meanings) of(text string) string {
	if said := m.tags[text]; said != "" {
		return said
	}
	v, err := community.Parse(text)
	if err != nil {
		return ""
	}
	for _, match := range m.known.Explain(v) {
		return match.Meaning
	}
	return ""
}

// decisionsOf are the decisions on routes and on rungs, newest first; those on rungs have
// numbers, by which the curves name them.
func decisionsOf(d *centralv1.Detail) []decisionView {
	var out []decisionView
	for _, c := range d.GetDecisions() {
		about := c.GetService()
		if c.GetNeighbor() != "" {
			about += " at " + c.GetNeighbor()
		}
		if c.GetFamily() != "" {
			about += ", " + c.GetFamily()
		}
		why := c.GetDetail()
		if c.GetTrigger() != "" {
			why = join(why, "upon "+c.GetTrigger())
		}
		out = append(out, decisionView{At: c.GetAt().AsTime(), About: about, Change: c.GetFrom() + " → " + c.GetTo(), Why: why, Inputs: c.GetInputs()})
	}
	for _, c := range d.GetSteering() {
		about := cmp.Or(c.GetNeighbor(), c.GetLink(), "node")
		if c.GetNeighbor() != "" && c.GetLink() != "" {
			about += ", link " + c.GetLink()
		}
		change := ""
		if c.GetFrom() != c.GetTo() {
			change = "rung " + number(c.GetFrom()) + " → " + number(c.GetTo())
		}
		why := c.GetDetail()
		if c.Utilization != nil {
			why = join(why, "at "+percent(c.GetUtilization()))
		}
		out = append(out, decisionView{At: c.GetAt().AsTime(), About: about, Change: change, Why: why, Inputs: c.GetInputs()})
	}
	slices.SortStableFunc(out, func(a, b decisionView) int { return b.At.Compare(a.At) })
	for i := range out {
		out[i].Mark = len(out) - i
	}
	return out
}

func join(a, b string) string {
	if a == "" {
		return b
	}
	return a + ", " + b
}

// nodeOverride is an operator's word for one node, or the end of one.
func (s *Site) nodeOverride(w http.ResponseWriter, r *http.Request) {
	name, form := r.PathValue("name"), r.PostForm
	err := s.override(r.Context(), name, form)
	switch {
	case err == nil:
		http.Redirect(w, r, "/nodes/"+url.PathEscape(name), http.StatusSeeOther)
	case isRefusal(err):
		s.showNode(w, r, httpCode(codeOf(err)), textOf(err), form)
	default:
		s.failed(w, r, err)
	}
}

func (s *Site) override(ctx context.Context, name string, form url.Values) error {
	if id := form.Get("clear"); id != "" {
		_, err := s.cfg.Fleet.ClearFleetOverride(ctx, &centralv1.ClearFleetOverrideRequest{Id: id, Reason: form.Get("reason"), Ticket: form.Get("ticket")})
		return err
	}
	length, err := length(form.Get("for"))
	if err != nil {
		return err
	}
	_, err = s.cfg.Fleet.SetFleetOverride(ctx, &centralv1.SetFleetOverrideRequest{Selector: &centralv1.Selector{Nodes: []string{name}}, Verb: form.Get("verb"),
		Reason: form.Get("reason"), Ticket: form.Get("ticket"), Duration: length})
	return err
}
