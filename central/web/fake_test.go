package web

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/url"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	centralv1 "github.com/catchment-bgp/catchment/api/central/v1"
	"github.com/catchment-bgp/catchment/central/identity"
	"github.com/catchment-bgp/catchment/community/registry"
)

// testNow is the time that the pages of tests see.
var testNow = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// fakeAPI answers as it is told, by the type of the request, and remembers what it was
// asked. Methods that no test of these pages needs are nil, and panic.
type fakeAPI struct {
	centralv1.FleetClient
	answers map[reflect.Type]proto.Message
	err     error // for all but those that pages are made of
	readErr error // for those

	mu    sync.Mutex
	asked []proto.Message
}

// answering is a fake with the answers for requests.
func answering(answers map[proto.Message]proto.Message) *fakeAPI {
	f := &fakeAPI{answers: map[reflect.Type]proto.Message{}}
	for request, answer := range answers {
		f.answers[reflect.TypeOf(request)] = answer
	}
	return f
}

func fakeCall[Resp proto.Message](f *fakeAPI, request proto.Message) (Resp, error) {
	var none Resp
	f.mu.Lock()
	f.asked = append(f.asked, proto.Clone(request))
	f.mu.Unlock()
	err := f.err
	switch request.(type) {
	case *centralv1.ListNodesRequest, *centralv1.ListWindowsRequest, *centralv1.GetFleetRequest, *centralv1.GetNodeRequest, *centralv1.ListFleetOverridesRequest:
		err = f.readErr
	}
	if err != nil {
		return none, err
	}
	answer, ok := f.answers[reflect.TypeOf(request)].(Resp)
	if !ok {
		return none.ProtoReflect().New().Interface().(Resp), nil
	}
	return answer, nil
}

func (f *fakeAPI) ListNodes(_ context.Context, r *centralv1.ListNodesRequest, _ ...grpc.CallOption) (*centralv1.ListNodesResponse, error) {
	return fakeCall[*centralv1.ListNodesResponse](f, r)
}

func (f *fakeAPI) GetNodeDetail(_ context.Context, r *centralv1.GetNodeRequest, _ ...grpc.CallOption) (*centralv1.NodeDetail, error) {
	return fakeCall[*centralv1.NodeDetail](f, r)
}

func (f *fakeAPI) ListFleetOverrides(_ context.Context, r *centralv1.ListFleetOverridesRequest, _ ...grpc.CallOption) (*centralv1.ListFleetOverridesResponse, error) {
	return fakeCall[*centralv1.ListFleetOverridesResponse](f, r)
}

func (f *fakeAPI) SetFleetOverride(_ context.Context, r *centralv1.SetFleetOverrideRequest, _ ...grpc.CallOption) (*centralv1.FleetOverride, error) {
	return fakeCall[*centralv1.FleetOverride](f, r)
}

func (f *fakeAPI) ClearFleetOverride(_ context.Context, r *centralv1.ClearFleetOverrideRequest, _ ...grpc.CallOption) (*centralv1.FleetOverride, error) {
	return fakeCall[*centralv1.FleetOverride](f, r)
}

func (f *fakeAPI) ListWindows(_ context.Context, r *centralv1.ListWindowsRequest, _ ...grpc.CallOption) (*centralv1.ListWindowsResponse, error) {
	return fakeCall[*centralv1.ListWindowsResponse](f, r)
}

func (f *fakeAPI) GetWindow(_ context.Context, r *centralv1.GetWindowRequest, _ ...grpc.CallOption) (*centralv1.Window, error) {
	return fakeCall[*centralv1.Window](f, r)
}

func (f *fakeAPI) AddWindow(_ context.Context, r *centralv1.AddWindowRequest, _ ...grpc.CallOption) (*centralv1.AddWindowResponse, error) {
	return fakeCall[*centralv1.AddWindowResponse](f, r)
}

func (f *fakeAPI) EndWindow(_ context.Context, r *centralv1.EndWindowRequest, _ ...grpc.CallOption) (*centralv1.Window, error) {
	return fakeCall[*centralv1.Window](f, r)
}

func (f *fakeAPI) CancelWindow(_ context.Context, r *centralv1.CancelWindowRequest, _ ...grpc.CallOption) (*centralv1.Window, error) {
	return fakeCall[*centralv1.Window](f, r)
}

func (f *fakeAPI) ConfirmWindow(_ context.Context, r *centralv1.ConfirmWindowRequest, _ ...grpc.CallOption) (*centralv1.AddWindowResponse, error) {
	return fakeCall[*centralv1.AddWindowResponse](f, r)
}

func (f *fakeAPI) ImportWindows(_ context.Context, r *centralv1.ImportWindowsRequest, _ ...grpc.CallOption) (*centralv1.ImportWindowsResponse, error) {
	return fakeCall[*centralv1.ImportWindowsResponse](f, r)
}

func (f *fakeAPI) Freeze(_ context.Context, r *centralv1.FreezeRequest, _ ...grpc.CallOption) (*centralv1.FleetStatus, error) {
	return fakeCall[*centralv1.FleetStatus](f, r)
}

func (f *fakeAPI) Thaw(_ context.Context, r *centralv1.ThawRequest, _ ...grpc.CallOption) (*centralv1.FleetStatus, error) {
	return fakeCall[*centralv1.FleetStatus](f, r)
}

func (f *fakeAPI) ListAudit(_ context.Context, r *centralv1.ListAuditRequest, _ ...grpc.CallOption) (*centralv1.ListAuditResponse, error) {
	return fakeCall[*centralv1.ListAuditResponse](f, r)
}

func (f *fakeAPI) VerifyAudit(_ context.Context, r *centralv1.VerifyAuditRequest, _ ...grpc.CallOption) (*centralv1.VerifyAuditResponse, error) {
	return fakeCall[*centralv1.VerifyAuditResponse](f, r)
}

// changes are the requests that are no reads.
func (f *fakeAPI) changes() []proto.Message {
	f.mu.Lock()
	defer f.mu.Unlock()
	var out []proto.Message
	for _, m := range f.asked {
		name := string(m.ProtoReflect().Descriptor().Name())
		if !strings.HasPrefix(name, "List") && !strings.HasPrefix(name, "Get") && !strings.HasPrefix(name, "Verify") {
			out = append(out, m)
		}
	}
	return out
}

// stillFleet is a fleet that does not change.
type stillFleet struct{ status *centralv1.FleetStatus }

func (s stillFleet) Status() *centralv1.FleetStatus { return s.status }
func (s stillFleet) News() <-chan struct{}          { return nil }

// desk is a site over a fake, as one person sees it.
type desk struct {
	t    testing.TB
	site *Site
	api  *fakeAPI
	role identity.Role
}

// deskOf makes one. documented is its registry; nil: none.
func deskOf(t testing.TB, api *fakeAPI, role identity.Role, documented *registry.Registry) *desk {
	t.Helper()
	d := &desk{t: t, api: api, role: role}
	site, err := New(Config{Fleet: api, Source: stillFleet{&centralv1.FleetStatus{}}, Registry: documented, Version: "test",
		Caller: func(context.Context) (identity.Peer, error) {
			return identity.Peer{Name: identity.Name{Domain: "example.net", Kind: identity.NOC, Name: "anna"}, Role: d.role, Serial: "1"}, nil
		}})
	if err != nil {
		t.Fatal(err)
	}
	site.now = func() time.Time { return testNow }
	d.site = site
	return d
}

func (d *desk) do(r *http.Request) *httptest.ResponseRecorder {
	d.t.Helper()
	w := httptest.NewRecorder()
	d.site.ServeHTTP(w, r)
	page := strings.HasPrefix(w.Header().Get("Content-Type"), "text/html") && w.Header().Get("Location") == ""
	if page && !strings.HasPrefix(r.URL.Path, "/part/") {
		checkHTML(d.t, w.Body.String())
	}
	return w
}

// get loads a page.
func (d *desk) get(address string) *httptest.ResponseRecorder {
	d.t.Helper()
	return d.do(httptest.NewRequest(http.MethodGet, address, nil))
}

const testSecret = "a-secret-of-the-browser"

// post sends a form of ours.
func (d *desk) post(address string, values url.Values) *httptest.ResponseRecorder {
	d.t.Helper()
	with := url.Values{tokenField: {tokenOf(testSecret)}}
	for name, all := range values {
		with[name] = all
	}
	return d.postAs(address, with)
}

// postAs sends a form as it is.
func (d *desk) postAs(address string, values url.Values) *httptest.ResponseRecorder {
	d.t.Helper()
	r := httptest.NewRequest(http.MethodPost, address, strings.NewReader(values.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.AddCookie(&http.Cookie{Name: plainCookie, Value: testSecret})
	return d.do(r)
}

// shows fails unless a page with this code has all these texts.
func (d *desk) shows(w *httptest.ResponseRecorder, code int, texts ...string) {
	d.t.Helper()
	if w.Code != code {
		d.t.Errorf("the answer is %d, want %d: %s", w.Code, code, readText(d.t, w.Body.String()))
	}
	text := readText(d.t, w.Body.String())
	for _, want := range texts {
		if !strings.Contains(text, want) {
			d.t.Errorf("the page does not say %q: %s", want, text)
		}
	}
}

// wants fails unless exactly these changes were asked of the API.
func (d *desk) wants(want ...proto.Message) {
	d.t.Helper()
	got := d.api.changes()
	if len(got) != len(want) {
		d.t.Fatalf("asked of the API: %v, want %v", got, want)
	}
	for i := range want {
		if !proto.Equal(got[i], want[i]) {
			d.t.Errorf("asked of the API: %v, want %v", got[i], want[i])
		}
	}
}

// refusal is what a safety rule answers.
func refusal(text string) error { return status.Error(codes.FailedPrecondition, text) }
