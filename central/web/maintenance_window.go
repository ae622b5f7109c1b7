package web

import (
	"cmp"
	"context"
	"html/template"
	"net/http"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	centralv1 "github.com/catchment-bgp/catchment/api/central/v1"
	"github.com/catchment-bgp/catchment/maintenance"
)

// comingMost is how many occurrences of a window are named.
const comingMost = 5

// coming are the first occurrences of a window that are not over.
func coming(w *centralv1.Window, now time.Time) []whenView {
	var out []whenView
	for _, o := range occurrencesOf(w, now, now.Add(400*24*time.Hour)) {
		if len(out) == comingMost {
			break
		}
		out = append(out, whenView{o.Begin, o.Start, o.End, inZone(o.Start, w.GetZone(), "")})
	}
	return out
}

func (s *Site) drawWindow(r *http.Request) (windowView, []byte, error) {
	m, err := s.cfg.Fleet.GetWindow(r.Context(), &centralv1.GetWindowRequest{Id: r.PathValue("id")})
	if err != nil {
		return windowView{}, nil, err
	}
	v := viewOf(m)
	v.May = layout{Who: peerOf(r)}.May()
	if m.GetRrule() != "" {
		v.Coming = coming(m, s.now())
	}
	text, err := s.draw("window", "live", v)
	return v, text, err
}

func (s *Site) window(w http.ResponseWriter, r *http.Request) {
	v, text, err := s.drawWindow(r)
	if err != nil {
		s.failed(w, r, err)
		return
	}
	s.show(w, r, http.StatusOK, "window", layout{Title: "Window " + v.ID, Section: "maintenance",
		Part: "/part" + v.Href, Live: template.HTML(text)})
}

func (s *Site) windowPart(w http.ResponseWriter, r *http.Request) {
	_, text, err := s.drawWindow(r)
	answerPart(w, r, text, err)
}

// actView is a form that says why something is done.
type actView struct {
	Title, Text    string
	Action, Back   string
	Button         string
	Danger         bool
	Fault, Refused string
	Fields         []field
	// Override asks whether limits shall not count; Overridden is the answer.
	Override, Overridden bool
}

// act is something that is done to what a page shows, once a reason is given.
type act struct {
	actView
	Section string
	// Needs a reason; else it may be left out.
	Needs bool
	// Lead asks how long before the start clients are to leave.
	Lead bool
	// Done is where the browser goes afterwards.
	Done string
	Do   func(ctx context.Context, said said) error
}

// said is what an act's form says.
type said struct {
	reason, ticket string
	lead           *durationpb.Duration
	override       bool
}

// acts makes the two handlers of an act: its form, and what is done. of returns the
// act for a request.
func (s *Site) acts(of func(r *http.Request) act) (form, do http.HandlerFunc) {
	form = s.writers(func(w http.ResponseWriter, r *http.Request) {
		s.showAct(w, r, http.StatusOK, of(r), nil)
	})
	return form, s.form(func(w http.ResponseWriter, r *http.Request) {
		a := of(r)
		what := said{reason: strings.TrimSpace(r.PostForm.Get("reason")), ticket: strings.TrimSpace(r.PostForm.Get("ticket")), override: r.PostForm.Get("override") != ""}
		faults := map[string]string{}
		if a.Needs && what.reason == "" {
			faults["reason"] = noReason
		}
		if text := strings.TrimSpace(r.PostForm.Get("lead")); a.Lead && text != "" {
			d, err := maintenance.ParseDuration(text)
			if err != nil {
				faults["lead"] = noDuration
			}
			what.lead = durationpb.New(d.Std())
		}
		if len(faults) > 0 {
			s.showAct(w, r, http.StatusUnprocessableEntity, a, faults)
			return
		}
		err := a.Do(r.Context(), what)
		switch st := status.Convert(err); st.Code() {
		case codes.OK:
			http.Redirect(w, r, a.Done, http.StatusSeeOther)
		case codes.FailedPrecondition:
			a.Refused = st.Message()
			s.showAct(w, r, http.StatusConflict, a, nil)
		case codes.InvalidArgument, codes.Aborted:
			a.Fault = st.Message()
			s.showAct(w, r, httpCode(st.Code()), a, nil)
		default:
			s.failed(w, r, err)
		}
	})
}

const (
	noReason   = "a reason is needed: those who look later want to know why"
	noDuration = "write a time with its unit, such as 10m, 2h or 1d"
)

// showAct shows the form of an act, as it was filled.
func (s *Site) showAct(w http.ResponseWriter, r *http.Request, code int, a act, faults map[string]string) {
	a.Overridden = r.PostForm.Get("override") != ""
	if a.Lead {
		a.Fields = append(a.Fields, field{Name: "lead", Label: "Lead", Hint: "How long before the start clients are asked to leave, such as 5m", Value: r.PostForm.Get("lead"), Fault: faults["lead"]})
	}
	hint := "Those who look later want to know why"
	if !a.Needs {
		hint = "May be left out: the window says why it was there"
	}
	a.Fields = append(a.Fields, field{Name: "reason", Label: "Reason", Hint: hint, Value: r.PostForm.Get("reason"), Needed: a.Needs, Fault: faults["reason"]},
		field{Name: "ticket", Label: "Ticket", Hint: "May be left out", Value: r.PostForm.Get("ticket")})
	s.show(w, r, code, "act", layout{Title: a.Title, Section: cmp.Or(a.Section, "maintenance"), Body: a.actView})
}

// writers lets only those see a form who may send it: the API refuses the others.
func (s *Site) writers(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		l := layout{Who: peerOf(r)}
		if !l.May() {
			s.fail(w, r, http.StatusForbidden, "This is for operators and admins. You are "+l.Who.Who()+", with the role "+string(l.Who.Role)+".")
			return
		}
		next(w, r)
	}
}

// endAct, cancelAct and confirmAct are what is done to a window.
func (s *Site) endAct(r *http.Request) act {
	id := r.PathValue("id")
	return act{actView: actView{Title: "End window " + id, Text: "What runs of the window ends now, and its nodes return in their turn. Later occurrences stay.",
		Action: toWindow(id) + "/end", Back: toWindow(id), Button: "End it now"}, Done: toWindow(id),
		Do: func(ctx context.Context, a said) error {
			_, err := s.cfg.Fleet.EndWindow(ctx, &centralv1.EndWindowRequest{Id: id, Reason: a.reason, Ticket: a.ticket})
			return err
		}}
}

func (s *Site) cancelAct(r *http.Request) act {
	id := r.PathValue("id")
	return act{actView: actView{Title: "Cancel window " + id, Text: "The window is called off, with all that is left of it. What it has drained returns.",
		Action: toWindow(id) + "/cancel", Back: toWindow(id), Button: "Cancel the window", Danger: true}, Done: toWindow(id),
		Do: func(ctx context.Context, a said) error {
			_, err := s.cfg.Fleet.CancelWindow(ctx, &centralv1.CancelWindowRequest{Id: id, Reason: a.reason, Ticket: a.ticket})
			return err
		}}
}

func (s *Site) confirmAct(r *http.Request) act {
	id := r.PathValue("id")
	return act{actView: actView{Title: "Confirm proposal " + id, Text: "The proposal becomes a window, if the limits allow it. Older windows of the same maintenance end.",
		Action: toWindow(id) + "/confirm", Back: toWindow(id), Button: "Confirm", Override: true}, Done: toWindow(id), Needs: true, Lead: true,
		Do: func(ctx context.Context, a said) error {
			_, err := s.cfg.Fleet.ConfirmWindow(ctx, &centralv1.ConfirmWindowRequest{Id: id, Lead: a.lead, Reason: a.reason, Ticket: a.ticket, OverrideSafety: a.override})
			return err
		}}
}

// freezeAct and thawAct are what is done to the fleet as a whole.
func (s *Site) freezeAct(*http.Request) act {
	return act{actView: actView{Title: "Freeze the fleet", Text: "Nothing changes by itself any more but what a hard failure needs, until the fleet is thawed.",
		Action: "/fleet/freeze", Back: "/", Button: "Freeze the fleet", Danger: true}, Section: "fleet", Done: "/", Needs: true,
		Do: func(ctx context.Context, a said) error {
			_, err := s.cfg.Fleet.Freeze(ctx, &centralv1.FreezeRequest{Reason: a.reason, Ticket: a.ticket})
			return err
		}}
}

func (s *Site) thawAct(*http.Request) act {
	return act{actView: actView{Title: "Thaw the fleet", Text: "Automatic changes go on.",
		Action: "/fleet/thaw", Back: "/", Button: "Thaw the fleet"}, Section: "fleet", Done: "/", Needs: true,
		Do: func(ctx context.Context, a said) error {
			_, err := s.cfg.Fleet.Thaw(ctx, &centralv1.ThawRequest{Reason: a.reason, Ticket: a.ticket})
			return err
		}}
}
