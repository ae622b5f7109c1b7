package healthcheck

import (
	"bufio"
	"bytes"
	"context"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

func TestHTTPProbe(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/moved":
			http.Redirect(w, r, "/ok", http.StatusMovedPermanently)
		case "/ok":
			io.WriteString(w, "all is ok\n")
		case "/busy":
			w.WriteHeader(http.StatusServiceUnavailable)
		case "/empty":
			w.WriteHeader(http.StatusNoContent)
		case "/early":
			w.WriteHeader(http.StatusEarlyHints)
			io.WriteString(w, "late")
		case "/big":
			w.Write(bytes.Repeat([]byte("a"), maxBody))
			w.Write(bytes.Repeat([]byte("b"), 10*maxBody))
		}
	}))
	defer server.Close()
	for _, c := range []struct {
		name string
		http HTTP
		want string
	}{
		{"200 passes", HTTP{URL: "/ok"}, ""},
		{"204 passes", HTTP{URL: "/empty"}, ""},
		{"503 fails", HTTP{URL: "/busy"}, "status 503, want 200-299"},
		{"a redirect is a status and fails", HTTP{URL: "/moved"}, "status 301, want 200-299 (redirects are not followed)"},
		{"a redirect passes where it is asked for", HTTP{URL: "/moved", Status: []int{301, 308}}, ""},
		{"a status outside the list fails", HTTP{URL: "/ok", Status: []int{204, 206}}, "status 200, want 204, 206"},
		{"interim answers are skipped", HTTP{URL: "/early", Body: "^late$"}, ""},
		{"a body that matches passes", HTTP{URL: "/ok", Body: `is\s+ok`}, ""},
		{"a body that does not match fails", HTTP{URL: "/ok", Body: "^ok"}, `body does not match "^ok"`},
		{"HEAD asks for no body", HTTP{URL: "/big", Method: "HEAD"}, ""},
		{"a big body passes", HTTP{URL: "/big"}, ""},
		{"the first 64 KiB are matched", HTTP{URL: "/big", Body: "a$"}, ""},
		{"no more than 64 KiB are read", HTTP{URL: "/big", Body: "b"}, `body does not match "b"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.http.URL = server.URL + c.http.URL
			if got := oneProbe(t, httpCheck(c.http)); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

func TestHTTPRequestBytes(t *testing.T) {
	for _, c := range []struct {
		http HTTP
		want string
	}{
		{HTTP{URL: "http://198.51.100.1:8080/health?deep=1#x"},
			"GET /health?deep=1 HTTP/1.1\r\nHost: 198.51.100.1:8080\r\nUser-Agent: catchment\r\nConnection: close\r\n\r\n"},
		{HTTP{URL: "http://h", Method: "POST", Headers: map[string]string{"hOST": "www.example.com", "User-Agent": "x", "x-a": "1"}},
			"POST / HTTP/1.1\r\nHost: www.example.com\r\nUser-Agent: x\r\nConnection: close\r\nContent-Length: 0\r\nX-A: 1\r\n\r\n"},
		{HTTP{URL: "https://u:p@[2001:db8::1]/"},
			"GET / HTTP/1.1\r\nHost: [2001:db8::1]\r\nUser-Agent: catchment\r\nConnection: close\r\nAuthorization: Basic dTpw\r\n\r\n"},
	} {
		p, errs := newHTTPProbe(c.http)
		if len(errs) > 0 {
			t.Fatal(errs)
		}
		if got := string(p.wire); got != c.want {
			t.Errorf("%s sends\n%q, want\n%q", c.http.URL, got, c.want)
		}
	}
}

func TestHTTPConnectsToTheURLAndNotToTheHostHeaderOrAProxy(t *testing.T) {
	t.Setenv("HTTP_PROXY", "http://127.0.0.1:1")
	t.Setenv("http_proxy", "http://127.0.0.1:1")
	hosts := make(chan string, 1)
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { hosts <- r.Host }))
	defer server.Close()
	h := HTTP{URL: server.URL, Headers: map[string]string{"Host": "video.example.net"}}
	if got := oneProbe(t, httpCheck(h)); got != "" {
		t.Fatal(got)
	}
	if got := <-hosts; got != "video.example.net" {
		t.Errorf("Host: %s", got)
	}
}

func TestHTTPUsesAConnectionPerProbeAndLeavesNone(t *testing.T) {
	states := make(chan http.ConnState, 100)
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	server.Config.ConnState = func(_ net.Conn, s http.ConnState) { states <- s }
	server.Start()
	defer server.Close()
	checker, err := New(httpCheck(HTTP{URL: server.URL}))
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if err := checker.attempt(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	opened, closed := 0, 0
	for closed < 3 {
		select {
		case s := <-states:
			if s == http.StateNew {
				opened++
			}
			if s == http.StateClosed {
				closed++
			}
		case <-time.After(patience):
			t.Fatalf("%d of %d connections closed", closed, opened)
		}
	}
	if opened != 3 {
		t.Errorf("%d connections for 3 probes", opened)
	}
}

func TestHTTPOnBadAnswers(t *testing.T) {
	for _, c := range []struct {
		name, answer, want string
		gone               bool
	}{
		{"nothing", "", "connection closed before the answer was complete", true},
		{"half a head", "HTTP/1.1 200 OK\r\nA:", "connection closed before the answer was complete", true},
		{"half a body", "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nok", "connection closed before the answer was complete", true},
		{"no HTTP", "SSH-2.0-OpenSSH_9.2\r\n\r\n", `malformed HTTP response "SSH-2.0-OpenSSH_9.2"`, false},
		{"endless head", "HTTP/1.1 200 OK\r\nA: " + strings.Repeat("a", 2*maxHead), "answer with more than 64 KiB of headers", false},
		{"endless interim answers", strings.Repeat("HTTP/1.1 103 Early Hints\r\n\r\n", 20), "more than 5 interim answers (1xx)", false},
		{"endless chunk headers", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" +
			strings.Repeat("1;"+strings.Repeat("a", 2000)+"\r\nx\r\n", 600), "chunked encoding contains too much non-data", false},
		{"switching protocols", "HTTP/1.1 101 Switching Protocols\r\n\r\n", "status 101, want 200-299", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, errs := newHTTPProbe(HTTP{URL: "http://h/"})
			if len(errs) > 0 {
				t.Fatal(errs)
			}
			err := p.judge(strings.NewReader(c.answer))
			if got := explain(err); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
			if got := outcomeOf(err) == gone; got != c.gone {
				t.Errorf("counts as refused: %v, want %v (%v)", got, c.gone, err)
			}
		})
	}
}

func TestHTTPHungIsFailed(t *testing.T) {
	for _, c := range []struct {
		name, scheme string
		handle       func(net.Conn)
	}{
		{"no answer", "http", hold},
		{"no TLS handshake", "https", hold},
		{"half a head", "http", answer("HTTP/1.1 200 OK\r\n")},
		{"half a body", "http", answer("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nok")},
		{"a body without end", "http", answer("HTTP/1.1 200 OK\r\n\r\nok")},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newService(t, c.handle)
			check := httpCheck(HTTP{URL: c.scheme + "://" + s.address})
			check.Timeout = 50 * time.Millisecond
			if got := oneProbe(t, check); got != "timeout after 50ms" {
				t.Errorf("%q, want a timeout", got)
			}
		})
	}
}

func TestBlackHoleIsFailed(t *testing.T) {
	address := blackHole(t)
	for name, check := range map[string]Check{"tcp": tcpCheck(address), "http": httpCheck(HTTP{URL: "http://" + address})} {
		check.Timeout = 50 * time.Millisecond
		if got := oneProbe(t, check); got != "timeout after 50ms" {
			t.Errorf("%s: %q, want a timeout", name, got)
		}
	}
}

func TestTCPProbe(t *testing.T) {
	s := newService(t, hold)
	if got := oneProbe(t, tcpCheck(s.address)); got != "" {
		t.Errorf("a listener fails: %s", got)
	}
	s.stop()
	if got := oneProbe(t, tcpCheck(s.address)); got != "connection refused" {
		t.Errorf("%q, want connection refused", got)
	}
}

func TestHTTPS(t *testing.T) {
	names := make(chan string, 10)
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { names <- r.TLS.ServerName }))
	server.Config.ErrorLog = discard
	server.StartTLS()
	defer server.Close()
	roots := x509.NewCertPool()
	roots.AddCert(server.Certificate())
	const untrusted = "tls: failed to verify certificate: x509: certificate signed by unknown authority"
	for _, c := range []struct {
		name, want string
		http       HTTP
		roots      *x509.CertPool
		serverName string
	}{
		{"a certificate of nobody's fails", untrusted, HTTP{}, nil, ""},
		{"InsecureSkipVerify takes it", "", HTTP{TLS: TLS{InsecureSkipVerify: true}}, nil, ""},
		{"a good certificate passes", "", HTTP{}, roots, ""},
		{"ServerName is sent and verified", "", HTTP{TLS: TLS{ServerName: "example.com"}}, roots, "example.com"},
		{"a certificate for another name fails",
			"tls: failed to verify certificate: x509: certificate is valid for example.com, *.example.com, not example.org", HTTP{TLS: TLS{ServerName: "example.org"}}, roots, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.http.URL = server.URL
			p, errs := newHTTPProbe(c.http)
			if len(errs) > 0 {
				t.Fatal(errs)
			}
			p.tls.RootCAs = c.roots
			if got := explain(p.attempt(t.Context())); got != c.want {
				t.Fatalf("%q, want %q", got, c.want)
			}
			if c.want == "" {
				if got := <-names; got != c.serverName {
					t.Errorf("server name %q, want %q", got, c.serverName)
				}
			}
		})
	}
}

func TestHTTPSToAPlainServerFails(t *testing.T) {
	s := newService(t, answer(answerOK))
	const want = "tls: first record does not look like a TLS handshake"
	if got := oneProbe(t, httpCheck(HTTP{URL: "https://" + s.address})); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestProbesEndWithTheirContext(t *testing.T) {
	silent := newService(t, hold)
	hole := blackHole(t)
	for name, check := range map[string]Check{
		"http":         httpCheck(HTTP{URL: "http://" + silent.address}),
		"https":        httpCheck(HTTP{URL: "https://" + silent.address}),
		"http to hole": httpCheck(HTTP{URL: "http://" + hole}),
		"tcp to hole":  {TCP: &TCP{hole}, Interval: time.Minute, Timeout: 30 * time.Second, Rise: 1, Fall: 1},
	} {
		checker, err := New(check)
		if err != nil {
			t.Fatal(err)
		}
		before := sockets(t)
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		begin := time.Now()
		err = checker.attempt(ctx)
		cancel()
		if took := time.Since(begin); err == nil || took > 3*time.Second {
			t.Errorf("%s: %v after %v", name, err, took)
		}
		waitFor(t, name+" closed its socket", func() bool { return sockets(t) <= before })
	}
}

func TestErrorsAreShort(t *testing.T) {
	text := explain(fmt.Errorf("answer %s", strings.Repeat("é", 500)))
	if len(text) > maxError || !strings.HasSuffix(text, "é...") {
		t.Errorf("%d bytes: %s", len(text), text)
	}
}

func FuzzAnswer(f *testing.F) {
	f.Add([]byte(answerOK))
	f.Add([]byte("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nok\n\r\n0\r\n\r\n"))
	f.Add([]byte("HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.0 503 Busy\r\n\r\n"))
	f.Add([]byte("HTTP/1.1 -1 \r\n"))
	p, errs := newHTTPProbe(HTTP{URL: "http://h/", Body: "ok"})
	if len(errs) > 0 {
		f.Fatal(errs)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		err := p.judge(bytes.NewReader(data))
		if err == nil && !bytes.Contains(data, []byte("o")) {
			t.Errorf("passed without the body that was asked for: %q", data)
		}
		if text := explain(err); len(text) > maxError || (text == "") != (err == nil) {
			t.Errorf("text %q for %v", text, err)
		}
		if response, err2 := http.ReadResponse(bufio.NewReader(bytes.NewReader(data)), nil); err == nil && (err2 != nil || response.StatusCode > 299) {
			t.Errorf("passed, yet not an answer below 300: %q", data)
		}
	})
}
