package healthcheck

import (
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// segment is a server of n bytes at /n, then a hang where the query says so.
func segment(t *testing.T) *httptest.Server {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "video/mp2t")
		w.Header().Add("Via", "1.1 first")
		w.Header().Add("Via", "1.1 second")
		n, _ := strconv.Atoi(strings.TrimPrefix(r.URL.Path, "/"))
		io.Copy(w, io.LimitReader(letters{}, int64(n)))
		if r.URL.RawQuery == "hang" {
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		}
	}))
	t.Cleanup(server.Close)
	return server
}

// letters is an endless text.
type letters struct{}

func (letters) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'a'
	}
	return len(p), nil
}

func TestHTTPMinBytes(t *testing.T) {
	server := segment(t)
	for _, c := range []struct {
		name string
		http HTTP
		want string
	}{
		{"enough passes", HTTP{URL: "/1000000", MinBytes: 1000000}, ""},
		{"more than enough passes", HTTP{URL: "/1000000", MinBytes: 999}, ""},
		{"one byte too few fails", HTTP{URL: "/999999", MinBytes: 1000000}, "body of 999999 bytes, want 1000000 or more"},
		{"nothing fails", HTTP{URL: "/0", MinBytes: 1}, "body of 0 bytes, want 1 or more"},
		{"what comes after is not waited for", HTTP{URL: "/100000?hang", MinBytes: 100000}, ""},
		{"in time", HTTP{URL: "/100000", MinBytes: 100000, MaxTime: 5 * time.Second}, ""},
		{"the body is matched, too", HTTP{URL: "/200000", MinBytes: 100000, Body: "^a+$"}, ""},
		{"and may not match", HTTP{URL: "/200000", MinBytes: 100000, Body: "b"}, `body does not match "b"`},
		{"too late fails and says how much there was", HTTP{URL: "/100000?hang", MinBytes: 100001, MaxTime: 2 * time.Second}, "100000 of 100001 bytes in 2s"},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.http.URL = server.URL + c.http.URL
			if got := oneProbe(t, httpCheck(c.http)); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

// The time limit holds from the start of the probe: before the first byte, too.
func TestHTTPMaxTimeBoundsEverything(t *testing.T) {
	silent := newService(t, hold)
	half := newService(t, answer("HTTP/1.1 200 OK\r\n"))
	for _, url := range []string{"http://" + silent.address, "https://" + silent.address, "http://" + half.address, "http://" + blackHole(t)} {
		began := time.Now()
		got := oneProbe(t, httpCheck(HTTP{URL: url, MinBytes: 10, MaxTime: 50 * time.Millisecond}))
		if got != "0 of 10 bytes in 50ms" || time.Since(began) > 3*time.Second {
			t.Errorf("%s: %q after %v", url, got, time.Since(began))
		}
	}
	cut := newService(t, func(conn net.Conn) {
		conn.Read(make([]byte, 4096))
		io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n12345")
	})
	const lost = "connection closed before the answer was complete"
	if got := oneProbe(t, httpCheck(HTTP{URL: "http://" + cut.address, MinBytes: 10, MaxTime: 4 * time.Second})); got != lost {
		t.Errorf("a body that breaks off: %q, want %q", got, lost)
	}
}

// A body passes exactly if it is long enough, however it is cut up.
func TestHTTPBodyLengths(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		length := rapid.IntRange(0, 3*maxBody).Draw(t, "length")
		least := rapid.Int64Range(1, 3*maxBody).Draw(t, "least")
		var answer strings.Builder
		if rapid.Bool().Draw(t, "chunked") {
			answer.WriteString("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
			for left := length; left > 0; {
				n := rapid.IntRange(1, left).Draw(t, "chunk")
				fmt.Fprintf(&answer, "%x\r\n%s\r\n", n, strings.Repeat("x", n))
				left -= n
			}
			answer.WriteString("0\r\n\r\n")
		} else {
			fmt.Fprintf(&answer, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", length, strings.Repeat("x", length))
		}
		h := HTTP{URL: "http://h/", MinBytes: least}
		if rapid.Bool().Draw(t, "matched") {
			h.Body = "^x*$"
		}
		p, errs := newHTTPProbe(h)
		if len(errs) > 0 {
			t.Fatal(errs)
		}
		if err := p.judge(strings.NewReader(answer.String())); (err == nil) != (int64(length) >= least) {
			t.Fatalf("%d bytes, want %d: %v", length, least, err)
		}
	})
}

func TestHTTPExpectHeaders(t *testing.T) {
	server := segment(t)
	for _, c := range []struct {
		name, header, pattern, want string
	}{
		{"one that matches passes", "Content-Type", "^video/", ""},
		{"in any case", "content-TYPE", "^video/", ""},
		{"any of its values may match", "Via", "second$", ""},
		{"any value at all", "Date", "", ""},
		{"one that does not match fails", "Content-Type", "^text/", `header Content-Type: "video/mp2t" does not match "^text/"`},
		{"none of its values matches", "Via", "third", `header Via: "1.1 first, 1.1 second" does not match "third"`},
		{"one that is missing fails", "X-Cache", "HIT", `no header X-Cache, want one that matches "HIT"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := HTTP{URL: server.URL + "/1", ExpectHeaders: map[string]string{c.header: c.pattern}}
			if got := oneProbe(t, httpCheck(h)); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

func TestHTTPSWithAnAuthorityOfOnesOwn(t *testing.T) {
	certificate, pemText := authority(t)
	_, other := authority(t)
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	server.TLS = &tls.Config{Certificates: []tls.Certificate{certificate}}
	server.Config.ErrorLog = discard
	server.StartTLS()
	defer server.Close()
	for want, h := range map[string]HTTP{
		"": {TLS: TLS{CA: other + pemText}},
		"tls: failed to verify certificate: x509: certificate signed by unknown authority": {TLS: TLS{CA: other}},
	} {
		h.URL = server.URL
		if got := oneProbe(t, httpCheck(h)); !strings.HasPrefix(got, want) || (got == "") != (want == "") {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestNewRefusesBadExpectations(t *testing.T) {
	for _, c := range []struct {
		http HTTP
		want string
	}{
		{HTTP{MinBytes: -1}, `http.min_bytes: -1 is below zero: write how many bytes the body must have`},
		{HTTP{MinBytes: 1, Method: "HEAD"}, `http.min_bytes: an answer to HEAD has no body: use method GET or leave min_bytes out`},
		{HTTP{MaxTime: time.Second}, `http.max_time: there is no min_bytes that it would be the time of: write min_bytes, or timeout instead`},
		{HTTP{MinBytes: 1, MaxTime: -1}, `http.max_time: -1ns is below zero: write for example 4s`},
		{HTTP{MinBytes: 1, MaxTime: 6 * time.Second}, `http.max_time: 6s is above the timeout 5s: write a longer timeout`},
		{HTTP{ExpectHeaders: map[string]string{"A B": "x"}}, `http.expect_headers: "A B" is not a header name: write for example Content-Type`},
		{HTTP{ExpectHeaders: map[string]string{"A": "("}}, "http.expect_headers: A: not a regular expression (RE2): error parsing regexp: missing closing ): `(`: quote special characters with a backslash"},
		{HTTP{TLS: TLS{CA: "x"}}, `http.ca_file: the URL is not https: remove it, or write https`},
		{HTTP{URL: "https://h/", TLS: TLS{CA: "x"}}, `http.ca_file: no certificate in it: write a file of PEM certificates (-----BEGIN CERTIFICATE-----)`},
	} {
		if c.http.URL == "" {
			c.http.URL = "http://h/"
		}
		refusedWith(t, httpCheck(c.http), c.want)
	}
}
