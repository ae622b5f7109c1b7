package central

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	centralv1 "github.com/catchment-bgp/catchment/api/central/v1"
	"github.com/catchment-bgp/catchment/central/identity"
	"github.com/catchment-bgp/catchment/central/web"
	"github.com/catchment-bgp/catchment/policy/fleet"
)

// both are the APIs of two centres of one store, of which the edges speak to the first.
func (l *lab) both() []*api {
	f := NewFleet(l.store, Settings{ASN: 57629, Services: map[string]fleet.Limits{video: l.limit}, Replica: newID("r")})
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- f.Run(ctx) }()
	<-f.Ready()
	l.t.Cleanup(func() { cancel(); <-done })
	pass(time.Minute) // by then it has heard of the first, and of its edges
	return []*api{l.api, {f: f}}
}

// windows are the ids of all windows that an API knows.
func (l *lab) windowIDs(a *api) []string {
	l.t.Helper()
	m, err := a.ListWindows(l.ctx(), &centralv1.ListWindowsRequest{All: true})
	if err != nil {
		l.t.Fatal(err)
	}
	var out []string
	for _, w := range m.GetWindows() {
		out = append(out, w.GetId())
	}
	return out
}

func onceAsk(change func(*centralv1.AddWindowRequest)) *centralv1.AddWindowRequest {
	r := &centralv1.AddWindowRequest{Selector: &centralv1.Selector{Nodes: []string{"n01"}}, Start: "now", Duration: durationpb.New(time.Hour), Reason: "a disk", RequestId: "key"}
	if change != nil {
		change(r)
	}
	return r
}

func TestARequestThatIsSentTwiceMakesOneWindow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, fleet.Limits{MinAnnouncing: 1})
		l.join(3)
		apis := l.both()
		ids := make(chan string, 20)
		var all sync.WaitGroup
		for i := range cap(ids) {
			all.Go(func() {
				m, err := apis[i%2].AddWindow(l.ctx(), onceAsk(nil))
				if err != nil {
					t.Errorf("request %d: %v", i, err)
				}
				ids <- m.GetWindow().GetId()
			})
		}
		all.Wait()
		close(ids)
		pass(time.Second)
		for _, a := range apis {
			if got := l.windowIDs(a); len(got) != 1 {
				t.Errorf("the windows are %v", got)
			}
		}
		for id := range ids {
			if id != l.windowIDs(l.api)[0] || !windowID.MatchString("window "+id) {
				t.Errorf("a request was answered with window %q", id)
			}
		}
		made := 0
		records, err := l.api.ListAudit(l.ctx(), &centralv1.ListAuditRequest{})
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range records.GetRecords() {
			if r.GetMethod() == "AddWindow" {
				made++
			}
		}
		if made != 1 {
			t.Errorf("the audit log has %d windows made", made)
		}
	})
}

func TestARequestIDIsOfOneCallerAndOneRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, fleet.Limits{MinAnnouncing: 1})
		l.join(3)
		pass(time.Minute)
		id := func(ctx context.Context, r *centralv1.AddWindowRequest) (string, error) {
			m, err := l.api.AddWindow(ctx, r)
			return m.GetWindow().GetId(), err
		}
		first, err := id(l.ctx(), onceAsk(nil))
		if err != nil {
			t.Fatal(err)
		}
		for name, other := range map[string]*centralv1.AddWindowRequest{
			"another node": onceAsk(func(r *centralv1.AddWindowRequest) { r.Selector.Nodes = []string{"n02"} }),
			"another time": onceAsk(func(r *centralv1.AddWindowRequest) { r.Duration = durationpb.New(2 * time.Hour) }),
		} {
			if _, err := id(l.ctx(), other); status.Code(err) != codes.InvalidArgument || !strings.Contains(err.Error(), "made window "+first+" already") {
				t.Errorf("%s: %v", name, err)
			}
		}
		if _, err := id(l.ctx(), onceAsk(func(r *centralv1.AddWindowRequest) { r.RequestId = strings.Repeat("k", longestRequestID+1) })); status.Code(err) != codes.InvalidArgument {
			t.Errorf("a long id: %v", err)
		}
		olga := identity.NewContext(t.Context(), identity.Peer{Name: identity.Name{Domain: "test", Kind: identity.NOC, Name: "olga"}, Role: identity.Operator})
		for name, ask := range map[string]func() (string, error){
			"another caller": func() (string, error) { return id(olga, onceAsk(nil)) },
			"another id": func() (string, error) {
				return id(l.ctx(), onceAsk(func(r *centralv1.AddWindowRequest) { r.RequestId = "other" }))
			},
			"no id": func() (string, error) {
				return id(l.ctx(), onceAsk(func(r *centralv1.AddWindowRequest) { r.RequestId = "" }))
			},
			"no id once more": func() (string, error) {
				return id(l.ctx(), onceAsk(func(r *centralv1.AddWindowRequest) { r.RequestId = "" }))
			},
		} {
			if got, err := ask(); err != nil || got == first {
				t.Errorf("%s: window %s, %v", name, got, err)
			}
		}
		if got := l.windowIDs(l.api); len(got) != 5 {
			t.Errorf("the windows are %v", got)
		}
		if _, err := l.api.CancelWindow(l.ctx(), &centralv1.CancelWindowRequest{Id: first}); err != nil {
			t.Fatal(err)
		}
		if m, err := l.api.AddWindow(l.ctx(), onceAsk(nil)); err != nil || m.GetWindow().GetId() != first || m.GetWindow().GetState() != "cancelled" {
			t.Errorf("sent again after it was cancelled: %v, %v", m, err)
		}
	})
}

func TestARefusedRequestMayBeSentAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, fleet.Limits{MinAnnouncing: 2})
		l.join(3)
		pass(time.Minute)
		other, err := l.api.AddWindow(l.ctx(), onceAsk(func(r *centralv1.AddWindowRequest) { r.Selector.Nodes, r.RequestId = []string{"n02"}, "other" }))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := l.api.AddWindow(l.ctx(), onceAsk(nil)); status.Code(err) != codes.FailedPrecondition {
			t.Fatalf("the limit: %v", err)
		}
		if _, err := l.api.CancelWindow(l.ctx(), &centralv1.CancelWindowRequest{Id: other.GetWindow().GetId()}); err != nil {
			t.Fatal(err)
		}
		pass(time.Minute)
		if m, err := l.api.AddWindow(l.ctx(), onceAsk(nil)); err != nil || m.GetWindow().GetId() == "" {
			t.Errorf("without the other window: %v, %v", m, err)
		}
	})
}

// direct is the API without a network between, as the lab's operator.
type direct struct {
	centralv1.FleetClient
	l *lab
	a *api
}

func (d direct) AddWindow(_ context.Context, r *centralv1.AddWindowRequest, _ ...grpc.CallOption) (*centralv1.AddWindowResponse, error) {
	return d.a.AddWindow(d.l.ctx(), proto.CloneOf(r))
}

func (d direct) ListNodes(ctx context.Context, r *centralv1.ListNodesRequest, _ ...grpc.CallOption) (*centralv1.ListNodesResponse, error) {
	return d.a.ListNodes(ctx, r)
}

func (d direct) ListWindows(ctx context.Context, r *centralv1.ListWindowsRequest, _ ...grpc.CallOption) (*centralv1.ListWindowsResponse, error) {
	return d.a.ListWindows(ctx, r)
}

// site is the page of a centre, without a network.
func (l *lab) site(a *api) *web.Site {
	l.t.Helper()
	p, _ := identity.FromContext(l.ctx())
	site, err := web.New(web.Config{Fleet: direct{l: l, a: a}, Source: source{a.f}, Caller: func(context.Context) (identity.Peer, error) { return p, nil }})
	if err != nil {
		l.t.Fatal(err)
	}
	return site
}

// sent sends a form to a site, as a browser with a cookie does.
func sent(site *web.Site, cookies []*http.Cookie, path string, form url.Values) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodPost, path, strings.NewReader(form.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	for _, c := range cookies {
		r.AddCookie(c)
	}
	w := httptest.NewRecorder()
	site.ServeHTTP(w, r)
	return w
}

var hiddenInForm = regexp.MustCompile(`<input type="hidden" name="([^"]+)" value="([^"]*)">`)

func TestAFormThatIsSentTwiceMakesOneWindowAtWhicheverCentre(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, fleet.Limits{MinAnnouncing: 1})
		l.join(3)
		var sites []*web.Site
		for _, a := range l.both() {
			sites = append(sites, l.site(a))
		}
		w := httptest.NewRecorder()
		sites[0].ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/no/such/page", nil)) // it has the form to sign out
		cookies := w.Result().Cookies()
		form := url.Values{"node": {"n01"}, "start": {"now"}, "lasts": {"1h"}, "reason": {"a disk"}, "token": {tokenInForm.FindStringSubmatch(w.Body.String())[1]}}
		preview := sent(sites[0], cookies, "/maintenance/preview", form)
		if preview.Code != http.StatusOK {
			t.Fatalf("the preview: %d %s", preview.Code, preview.Body)
		}
		confirm := url.Values{}
		for _, m := range hiddenInForm.FindAllStringSubmatch(preview.Body.String(), -1) {
			confirm.Add(m[1], m[2])
		}
		answers := make(chan string, 8)
		var all sync.WaitGroup
		for i := range cap(answers) {
			all.Go(func() {
				w := sent(sites[i/2%2], cookies, "/maintenance", confirm)
				if w.Code != http.StatusSeeOther {
					t.Errorf("sent: %d %s", w.Code, w.Body)
				}
				answers <- w.Header().Get("Location")
			})
		}
		all.Wait()
		close(answers)
		ids := l.windowIDs(l.api)
		if len(ids) != 1 {
			t.Fatalf("the windows are %v", ids)
		}
		for to := range answers {
			if to != "/maintenance/"+ids[0] {
				t.Errorf("a browser was sent to %s, and the window is %s", to, ids[0])
			}
		}
	})
}
