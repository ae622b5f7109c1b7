package web

import (
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/timestamppb"

	centralv1 "github.com/catchment-bgp/catchment/api/central/v1"
	"github.com/catchment-bgp/catchment/maintenance"
)

// spans are the days ahead that the timeline may show.
var spans = []int{7, 30, 90}

// maintenancePage is what the page of the windows shows.
type maintenancePage struct {
	May       bool // who looks may change something
	All       bool
	Days      int
	Spans     []spanLink
	Toggle    string // the address of the page with, or without, what is over
	Line      timeline
	Proposals []windowView
	Windows   []windowView
}

type spanLink struct {
	Days int
	Href string
	On   bool
}

// windowView is one window.
type windowView struct {
	ID, Href, State string
	Tone            tone
	Whom            string
	Nodes           []nodeLink
	Start, End      time.Time // of the occurrence that runs or comes next, or of the last
	Local           string    // the start as it was written, in its zone
	Lasts, Lead     string
	Recurs          string
	Reason, Ticket  string
	By              string
	Made            time.Time
	Override        bool
	Provider        *centralv1.Provider
	Progress        []progressView
	Coming          []whenView
	May             bool // who looks may change something
	// MayEnd, MayCancel and MayConfirm say what its state allows.
	MayEnd, MayCancel, MayConfirm bool
}

type nodeLink struct{ Name, Href string }

type progressView struct {
	nodeLink
	Phase, Detail string
	Tone          tone
}

// whenView is an occurrence.
type whenView struct {
	Begin, Start, End time.Time
	Local             string
}

// windowTones are those of a window's states, and of its phases at a node.
var windowTones = map[string]tone{"proposed": warm, "scheduled": dull, "draining": warm, "running": warm, "safe": calm, "ended": dull,
	"cancelled": dull, "invalid": hot, "waiting": dull, "withdrawn": warm, "over": dull}

// toNode is a link to a node's page.
func toNode(name string) nodeLink { return nodeLink{name, "/nodes/" + url.PathEscape(name)} }

// toWindow is the address of a window's page.
func toWindow(id string) string { return "/maintenance/" + url.PathEscape(id) }

// viewOf makes the view of a window.
func viewOf(w *centralv1.Window) windowView {
	v := windowView{ID: w.GetId(), Href: toWindow(w.GetId()), State: w.GetState(), Tone: windowTones[w.GetState()], Whom: whomOf(w),
		Start: moment(w.GetNextStart()), End: moment(w.GetNextEnd()), Lasts: maintenance.Duration(w.GetDuration().AsDuration()).String(),
		Recurs: w.GetRrule(), Reason: w.GetReason(), Ticket: w.GetTicket(), By: w.GetBy(), Made: moment(w.GetCreated()), Override: w.GetOverrideSafety(), Provider: w.GetProvider()}
	if lead := w.GetLead().AsDuration(); lead > 0 {
		v.Lead = maintenance.Duration(lead).String()
	}
	if v.Start.IsZero() {
		v.Start, v.End = moment(w.GetStart()), moment(w.GetStart()).Add(w.GetDuration().AsDuration())
		if w.GetEnded() != nil {
			v.End = moment(w.GetEnded())
		}
	}
	v.Local = inZone(v.Start, w.GetZone(), w.GetLocalStart())
	for _, n := range w.GetNodes() {
		v.Nodes = append(v.Nodes, toNode(n))
	}
	for _, p := range w.GetProgress() {
		v.Progress = append(v.Progress, progressView{toNode(p.GetNode()), p.GetPhase(), p.GetDetail(), windowTones[p.GetPhase()]})
	}
	runs := slices.Contains([]string{"draining", "running", "safe"}, w.GetState())
	v.MayEnd, v.MayConfirm = runs, w.GetState() == string(maintenance.Proposed)
	v.MayCancel = runs || v.MayConfirm || w.GetState() == string(maintenance.Scheduled)
	return v
}

// inZone is a moment on the clocks of a zone other than UTC, with its name; as it was
// written where the zone is not known.
func inZone(t time.Time, zone, written string) string {
	loc, err := maintenance.LoadZone(zone)
	switch {
	case zone == "UTC":
		return "" // it stands there already
	case zone == "" || t.IsZero():
		return written
	case err != nil:
		return fmt.Sprintf("%s %s", written, zone)
	}
	return t.In(loc).Format("2006-01-02 15:04 ") + zone
}

// moment is a time of the API.
func moment(t *timestamppb.Timestamp) time.Time {
	if !t.IsValid() {
		return time.Time{}
	}
	return t.AsTime()
}

// maintenanceView makes the page out of the windows.
func maintenanceView(windows []*centralv1.Window, all bool, days int, now time.Time) maintenancePage {
	byStart(windows)
	p := maintenancePage{All: all, Days: days, Toggle: listAddress("/maintenance", !all, days)}
	for _, n := range spans {
		p.Spans = append(p.Spans, spanLink{n, listAddress("/maintenance", all, n), n == days})
	}
	midnight := now.UTC().Truncate(24 * time.Hour)
	before := 24 * time.Hour
	if all {
		before = 7 * 24 * time.Hour
	}
	p.Line = timelineOf(windows, midnight.Add(-before), midnight.Add(time.Duration(days)*24*time.Hour), now)
	for _, w := range windows {
		if v := viewOf(w); v.MayConfirm {
			p.Proposals = append(p.Proposals, v)
		} else {
			p.Windows = append(p.Windows, v)
		}
	}
	return p
}

// listAddress is the address of the list of windows.
func listAddress(path string, all bool, days int) string {
	q := url.Values{}
	if all {
		q.Set("all", "1")
	}
	if days != spans[0] {
		q.Set("days", strconv.Itoa(days))
	}
	if len(q) == 0 {
		return path
	}
	return path + "?" + q.Encode()
}

// listWanted is what an address of the list asks for.
func listWanted(r *http.Request) (all bool, days int) {
	days, _ = strconv.Atoi(r.URL.Query().Get("days"))
	if !slices.Contains(spans, days) {
		days = spans[0]
	}
	return r.URL.Query().Get("all") != "", days
}

func (s *Site) drawMaintenance(r *http.Request) ([]byte, error) {
	all, days := listWanted(r)
	m, err := s.cfg.Fleet.ListWindows(r.Context(), &centralv1.ListWindowsRequest{All: all})
	if err != nil {
		return nil, err
	}
	v := maintenanceView(m.GetWindows(), all, days, s.now())
	v.May = layout{Who: peerOf(r)}.May()
	return s.draw("maintenance", "live", v)
}

func (s *Site) maintenance(w http.ResponseWriter, r *http.Request) {
	text, err := s.drawMaintenance(r)
	if err != nil {
		s.failed(w, r, err)
		return
	}
	all, days := listWanted(r)
	s.show(w, r, http.StatusOK, "maintenance", layout{Title: "Maintenance", Section: "maintenance", Part: listAddress("/part/maintenance", all, days), Live: template.HTML(text)})
}

func (s *Site) maintenancePart(w http.ResponseWriter, r *http.Request) {
	text, err := s.drawMaintenance(r)
	answerPart(w, r, text, err)
}

// answerPart answers with a piece of a page, or says to the script why there is none.
func answerPart(w http.ResponseWriter, r *http.Request, text []byte, err error) {
	if err != nil {
		st := status.Convert(err)
		http.Error(w, st.Message(), httpCode(st.Code()))
		return
	}
	part(w, r, text)
}

// maintenanceRoutes has the addresses of windows, and of what is done to the fleet as a
// whole. A literal part of an address goes before an id.
func (s *Site) maintenanceRoutes() {
	s.mux.HandleFunc("GET /maintenance", s.seen(s.maintenance))
	s.mux.HandleFunc("GET /part/maintenance", s.seen(s.maintenancePart))
	s.mux.HandleFunc("GET /maintenance/{id}", s.seen(s.window))
	s.mux.HandleFunc("GET /part/maintenance/{id}", s.seen(s.windowPart))
	s.mux.HandleFunc("GET /maintenance/new", s.seen(s.writers(s.plan)))
	s.mux.HandleFunc("POST /maintenance/new", s.seen(s.form(s.writers(s.planAgain))))
	s.mux.HandleFunc("POST /maintenance/preview", s.seen(s.form(s.preview)))
	s.mux.HandleFunc("POST /maintenance", s.seen(s.form(s.addWindow)))
	s.mux.HandleFunc("GET /maintenance/import", s.seen(s.writers(s.importForm)))
	s.mux.HandleFunc("POST /maintenance/import", s.seen(s.bounded(maxUpload, s.form(s.importMail))))
	for address, of := range map[string]func(*http.Request) act{
		"/maintenance/{id}/end": s.endAct, "/maintenance/{id}/cancel": s.cancelAct, "/maintenance/{id}/confirm": s.confirmAct,
		"/fleet/freeze": s.freezeAct, "/fleet/thaw": s.thawAct,
	} {
		form, do := s.acts(of)
		s.mux.HandleFunc("GET "+address, s.seen(form))
		s.mux.HandleFunc("POST "+address, s.seen(do))
	}
}
