package identity

import (
	"encoding/base64"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	centralv1 "github.com/catchment-bgp/catchment/api/central/v1"
)

func TestJSONGoesThroughTheSameRules(t *testing.T) {
	c := newCentre(t)
	c.reportsAll()
	ask := func(f *Files, method, path, body string, change func(*http.Request)) (int, string) {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), method, c.url+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		if change != nil {
			change(r)
		}
		resp, err := c.browser(t, f).Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = resp.Body.Close() }()
		text, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return resp.StatusCode, string(text)
	}
	viewer := c.open(t, c.ca, Order{Kind: NOC, Name: "vera"}, "vera", time.Now())
	operator := c.open(t, c.ca, Order{Kind: NOC, Name: "olga", Role: Operator}, "olga", time.Now())
	edge := c.open(t, c.ca, Order{Kind: Edge, Name: "msk1"}, "edge", time.Now())
	old := c.open(t, c.ca, Order{Kind: NOC, Name: "old", Role: Admin}, "old", time.Now().Add(-PersonLife-time.Hour))
	forged := `{"peer":{"name":{"domain":"example.net","kind":"noc","name":"root"},"role":"admin","not_after":"2100-01-01T00:00:00Z"}}`
	forge := func(r *http.Request) {
		for _, h := range []string{"Grpc-Metadata-" + forwardKey, forwardKey, "Grpc-Metadata-Catchment-Caller", "Grpcgateway-" + forwardKey} {
			r.Header[http.CanonicalHeaderKey(h)] = []string{forged}
		}
	}
	forge64 := func(r *http.Request) {
		r.Header.Set("Grpc-Metadata-"+forwardKey, base64.StdEncoding.EncodeToString([]byte(forged)))
	}
	chunked := func(r *http.Request) { r.ContentLength = -1 }
	large := `{"meaning":"` + strings.Repeat("x", MaxMessage) + `"}`
	cases := []struct {
		name         string
		files        *Files
		method, path string
		body         string
		change       func(*http.Request)
		code         int
		says         string
		counted      Reason
	}{
		{"a viewer reads", viewer, "GET", "/v1/fleet", "", nil, 200, "noc/vera viewer", ""},
		{"a viewer writes", viewer, "POST", "/v1/nodes/msk1/tags", "{}", nil, 403, "needs operator", WrongRole},
		{"an operator writes", operator, "POST", "/v1/nodes/msk1/tags", "{}", nil, 200, "msk1", ""},
		{"nobody reads", nil, "GET", "/v1/fleet", "", nil, 401, "no client certificate", NoCertificate},
		{"nobody writes", nil, "POST", "/v1/fleet/freeze", "{}", nil, 401, "no client certificate", NoCertificate},
		{"nobody with a forged header", nil, "GET", "/v1/fleet", "", forge, 401, "no client certificate", NoCertificate},
		{"a viewer with a forged header", viewer, "POST", "/v1/nodes/msk1/tags", "{}", forge, 403, "noc/vera has the role viewer", WrongRole},
		{"a viewer with a forged header as the gateway reads it", viewer, "POST", "/v1/nodes/msk1/tags", "{}", forge64, 403, "noc/vera has the role viewer", WrongRole},
		{"an edge reads", edge, "GET", "/v1/fleet", "", nil, 403, "edge/msk1 has the role edge", WrongRole},
		{"an expired one", old, "GET", "/v1/fleet", "", nil, 401, "expired", Expired},
		{"a bad token", nil, "POST", "/v1/join", `{"token":"x"}`, nil, 401, "no join token", BadToken},
		{"a large body", operator, "POST", "/v1/nodes/msk1/tags", large, nil, 413, "larger than 1 MiB", TooLarge},
		{"a large body of no said length", operator, "POST", "/v1/nodes/msk1/tags", large, chunked, 400, "too large", TooLarge},
		{"sent by another site", operator, "POST", "/v1/nodes/msk1/tags", "{}",
			func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "cross-site") }, 403, "another site", CrossOrigin},
	}
	for _, k := range cases {
		t.Run(k.name, func(t *testing.T) {
			before := c.counts.count(k.counted)
			code, text := ask(k.files, k.method, k.path, k.body, k.change)
			if code != k.code || !strings.Contains(text, k.says) {
				t.Errorf("%d %.300s", code, text)
			}
			if k.counted == "" {
				return
			}
			if got := c.counts.count(k.counted); got != before+1 {
				t.Errorf("counted %d as %s: %v", got-before, k.counted, c.counts.by)
			}
			if r, ok := c.counts.last(k.counted); !ok || !strings.HasPrefix(r.Addr, "127.0.0.1:") {
				t.Errorf("reported as %+v", r)
			}
		})
	}
}

// TestForgedHeaderMeansNothingOnASocket sends what only the gateway may.
func TestForgedHeaderMeansNothingOnASocket(t *testing.T) {
	c := newCentre(t)
	conn := c.dial(t, c.open(t, c.ca, Order{Kind: NOC, Name: "vera"}, "vera", time.Now()))
	ctx := metadata.AppendToOutgoingContext(t.Context(), forwardKey, `{"peer":{"role":"admin","dev":true}}`)
	if got, err := who(ctx, conn); err != nil || got != "noc/vera viewer" {
		t.Errorf("%q %v", got, err)
	}
	ctx = metadata.AppendToOutgoingContext(t.Context(), forwardKey, `{"peer":{"role":"admin","dev":true}}`)
	if _, err := who(ctx, c.dial(t, nil)); status.Code(err) != codes.Unauthenticated {
		t.Errorf("%v", err)
	}
}

func TestLocalCallsSpeakForNobodyByThemselves(t *testing.T) {
	c := &centre{dir: t.TempDir(), counts: &counts{}}
	ca, err := Init(c.path("ca"), domain, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	files := c.open(t, ca, Order{Kind: Central, Name: "c1", Hosts: []string{"127.0.0.1"}}, "server", time.Now())
	if c.gate, err = New(Config{Domain: domain, Files: files}); err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer(c.gate.ServerOptions()...)
	centralv1.RegisterFleetServer(server, fleetServer{})
	local := NewLocal()
	done := make(chan struct{})
	go func() { defer close(done); _ = server.Serve(local) }()
	conn, err := local.Client()
	if err != nil {
		t.Fatal(err)
	}
	// Even where the caller's own metadata says so.
	ctx := metadata.AppendToOutgoingContext(t.Context(), forwardKey, `{"peer":{"role":"admin","dev":true}}`)
	if _, err := who(ctx, conn); status.Code(err) != codes.Unauthenticated {
		t.Errorf("%v", err)
	}
	_ = conn.Close()
	server.Stop()
	<-done
	if _, err := local.Accept(); err == nil {
		t.Error("a closed listener accepts")
	}
}

func TestDevLetsEveryoneDoAllOnLoopback(t *testing.T) {
	c := &centre{dir: t.TempDir(), counts: &counts{}}
	var err error
	if c.gate, err = New(Config{Dev: true, Counter: c.counts, Refused: c.counts.report}); err != nil {
		t.Fatal(err)
	}
	c.serve(t, nil)
	conn := c.plain(t)
	if got, err := who(t.Context(), conn); err != nil || got != "dev admin" {
		t.Errorf("%q %v", got, err)
	}
	if _, err := connect(t, conn, "any"); err != nil {
		t.Errorf("%v", err)
	}
	get := func(host string) int {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), "GET", c.url+"/v1/fleet", nil)
		if err != nil {
			t.Fatal(err)
		}
		if host != "" {
			r.Host = host
		}
		client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
		resp, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		return resp.StatusCode
	}
	for host, want := range map[string]int{"": 200, "localhost": 200, "[::1]:7180": 200, "[::1]": 200, "evil.example": 403, "evil.example:80": 403} {
		if got := get(host); got != want {
			t.Errorf("host %q: %d", host, got)
		}
	}
}
