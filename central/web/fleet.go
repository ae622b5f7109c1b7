package web

import (
	"cmp"
	"fmt"
	"html/template"
	"net/http"
	"slices"
	"strings"
	"time"

	centralv1 "github.com/catchment-bgp/catchment/api/central/v1"
)

// fleetPage is what the page of the fleet shows.
type fleetPage struct {
	At       time.Time
	Summary  string
	Calm     bool // nobody is away, nothing is frozen or warned of
	Frozen   string
	Services []*centralv1.FleetService
	Trouble  []nodeRow // nodes that are not plainly announced
	Sites    []siteView
	Grants   []grantRow
	Views    []*centralv1.OutsideView
	Words    []*centralv1.FleetOverride
	Warnings []string
	Nodes    int
	// Folded: there are so many nodes that quiet sites are folded.
	Folded bool
}

type siteView struct {
	Name       string
	Nodes      []nodeRow
	Quiet      bool
	Announcing int
}

type nodeRow struct {
	Name, Site, State, Reason, Detail string
	Tone                              tone
	Tags                              []*centralv1.Tag
	Links                             []*centralv1.LinkReport
	Up, Sessions                      int
	Seen                              string
	Skew                              float64
	Version                           string
}

type grantRow struct {
	Node, Service, Kind, Window, State string
	Since                              time.Time
}

// tone is how a state looks: it is said in words besides.
type tone string

// The tones.
const (
	calm tone = "calm"
	warm tone = "warm"
	hot  tone = "hot"
	dull tone = "dull"
)

// tones are those of a node's states.
var tones = map[string]tone{"announced": calm, "steered": warm, "draining": warm, "withdrawn": hot, "unseen": hot}

// announces reports whether a node in this state takes clients.
func announces(state string) bool { return state == "announced" || state == "steered" }

// foldFrom is how many nodes are too many to show all.
const foldFrom = 60

// fleetView makes the page of the fleet out of its status.
func fleetView(f *centralv1.FleetStatus, now time.Time) fleetPage {
	p := fleetPage{At: f.GetAt().AsTime(), Summary: f.GetSummary(), Frozen: f.GetFrozenReason(), Services: f.GetServices(),
		Views: f.GetViews(), Words: f.GetOverrides(), Warnings: f.GetWarnings(), Nodes: len(f.GetNodes()), Folded: len(f.GetNodes()) > foldFrom}
	sites := map[string]*siteView{}
	for _, n := range f.GetNodes() {
		row := rowOf(n, now)
		if row.Tone != calm {
			p.Trouble = append(p.Trouble, row)
		}
		site := sites[row.Site]
		if site == nil {
			site = &siteView{Name: row.Site, Quiet: true}
			sites[row.Site] = site
		}
		site.Nodes = append(site.Nodes, row)
		site.Quiet = site.Quiet && row.Tone == calm
		if announces(n.GetState()) {
			site.Announcing++
		}
	}
	for _, site := range sites {
		p.Sites = append(p.Sites, *site)
	}
	slices.SortFunc(p.Sites, func(a, b siteView) int { return strings.Compare(a.Name, b.Name) })
	for _, g := range f.GetGrants() {
		p.Grants = append(p.Grants, grantRow{g.GetNode(), g.GetService(), g.GetKind(), g.GetWindow(), g.GetState(), g.GetIssued().AsTime()})
	}
	p.Calm = !f.GetFrozen() && len(p.Trouble) == 0 && len(p.Warnings) == 0
	return p
}

func rowOf(n *centralv1.Node, now time.Time) nodeRow {
	row := nodeRow{Name: n.GetName(), Site: cmp.Or(n.GetSite(), "no site"), State: n.GetState(), Reason: n.GetReason(), Tags: n.GetTags(),
		Links: n.GetLinks(), Sessions: len(n.GetNeighbors()), Skew: n.GetClockSkewSeconds(), Version: n.GetVersion(), Tone: tones[n.GetState()]}
	for _, s := range n.GetSessions() {
		if s.GetSession() == "established" {
			row.Up++
		}
	}
	for _, s := range n.GetServices() {
		if s.GetState() != "announced" && s.GetDetail() != "" {
			row.Detail = s.GetName() + ": " + s.GetDetail()
			break
		}
	}
	if row.Tone == calm && row.Up < row.Sessions {
		row.Tone = warm
	}
	switch {
	case n.GetLastSeen() == nil:
		row.Seen, row.Tone = "never", hot
	case !n.GetConnected():
		row.Seen = ago(n.GetLastSeen().AsTime(), now)
	default:
		row.Seen = "connected"
	}
	switch {
	case n.GetDisabled():
		row.Reason, row.Tone = "disabled", dull
	case n.GetStandby() && n.GetState() == "withdrawn":
		row.Reason, row.Tone = "standby", dull
	}
	return row
}

// ago is how long ago a moment was, in words.
func ago(t, now time.Time) string {
	d := max(0, now.Sub(t))
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%.0f s ago", d.Seconds())
	case d < time.Hour:
		return fmt.Sprintf("%.0f min ago", d.Minutes())
	case d < 48*time.Hour:
		return fmt.Sprintf("%.0f h ago", d.Hours())
	}
	return fmt.Sprintf("%.0f days ago", d.Hours()/24)
}

func (s *Site) fleet(w http.ResponseWriter, r *http.Request) {
	text, err := s.live.fleet()
	if err != nil {
		s.cfg.Log.Error("the fleet cannot be drawn", "error", err)
		s.fail(w, r, http.StatusInternalServerError, "The fleet cannot be drawn; the centre's log says why.")
		return
	}
	s.show(w, r, http.StatusOK, "fleet", layout{Title: "Fleet", Section: "fleet", Part: "/part/fleet", Live: template.HTML(text)})
}

func (s *Site) fleetPart(w http.ResponseWriter, r *http.Request) {
	p, err := s.live.part()
	if err != nil {
		http.Error(w, "the fleet cannot be drawn", http.StatusInternalServerError)
		return
	}
	p.send(w, r)
}
