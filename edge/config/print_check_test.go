package config

import (
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/catchment-bgp/catchment/healthcheck"
)

// drawKind gives c one of the kinds, with a watch where it can have one.
func drawKind(t *rapid.T, c *healthcheck.Check) {
	switch kind := rapid.SampledFrom(checkKinds).Draw(t, "kind"); kind {
	case "http":
		c.HTTP, c.Watch = drawHTTP(t), rapid.Bool().Draw(t, "watch")
	case "tcp":
		c.TCP, c.Watch = &healthcheck.TCP{Address: "[2001:db8::1]:53"}, rapid.Bool().Draw(t, "watch")
	case "dns":
		c.DNS = drawDNS(t)
	case "icmp":
		c.ICMP = &healthcheck.ICMP{
			Address: netip.MustParseAddr("2001:db8::1"), Count: rapid.IntRange(5, 100).Draw(t, "count"), MinReplies: rapid.IntRange(1, 5).Draw(t, "replies"),
			Source: rapid.SampledFrom([]netip.Addr{{}, netip.MustParseAddr("2001:db8::2")}).Draw(t, "source"),
		}
	case "grpc":
		c.GRPC = &healthcheck.GRPC{Address: "h:50051", Service: drawText(t, "service")}
		if rapid.Bool().Draw(t, "tls") {
			tls := drawTLS(t)
			c.GRPC.TLS = &tls
		}
	case "exec":
		c.Exec = &healthcheck.Exec{
			Command: []string{"/bin/true", drawText(t, "argument")}, Exit: []int{rapid.IntRange(0, 255).Draw(t, "code"), 1},
			Environment: rapid.SampledFrom([][]string{nil, {"A=b: c", "HOME"}}).Draw(t, "environment"), Directory: "/var/lib",
		}
	case "unit":
		c.Unit = &healthcheck.Unit{Name: rapid.SampledFrom([]string{"nginx.service", "getty@tty1.service", "1e3.timer"}).Draw(t, "unit")}
	case "file":
		c.File = &healthcheck.File{Path: "/run/x", Present: rapid.Bool().Draw(t, "present")}
		if c.File.Present && rapid.Bool().Draw(t, "aged") {
			c.File.MaxAge = drawDuration(t, minInterval, 10*day, "age")
		}
	default:
		t.Fatalf("kind %s cannot be drawn", kind)
	}
}

func drawTLS(t *rapid.T) healthcheck.TLS {
	tls := healthcheck.TLS{ServerName: rapid.SampledFrom([]string{"", "x"}).Draw(t, "server")}
	switch rapid.IntRange(0, 2).Draw(t, "authority") {
	case 1:
		tls.InsecureSkipVerify = true
	case 2:
		tls.CAFile = filepath.Join("testdata", "ca.pem")
		text, err := os.ReadFile(tls.CAFile)
		if err != nil {
			t.Fatal(err)
		}
		tls.CA = string(text)
	}
	return tls
}

func drawHTTP(t *rapid.T) *healthcheck.HTTP {
	h := &healthcheck.HTTP{
		URL: "https://x:8443/?q=1", Method: "GET", Body: rapid.SampledFrom([]string{"", "ok$", "[0-9]+", "true", "a\nb"}).Draw(t, "body"),
		TLS: drawTLS(t),
	}
	if rapid.Bool().Draw(t, "headers") {
		h.Headers = map[string]string{"X-Probe": drawText(t, "header")}
		h.Status = []int{200, rapid.IntRange(200, 599).Draw(t, "status")}
		h.ExpectHeaders = map[string]string{"Content-Type": "^video/", "X-Cache": ""}
	}
	if rapid.Bool().Draw(t, "bytes") {
		h.MinBytes = rapid.Int64Range(1, maxCount).Draw(t, "least")
		if rapid.Bool().Draw(t, "timed") {
			h.MaxTime = time.Millisecond // the shortest timeout that is drawn
		}
	}
	return h
}

func drawDNS(t *rapid.T) *healthcheck.DNS {
	d := &healthcheck.DNS{
		Server: "192.0.2.53:53", TCP: rapid.Bool().Draw(t, "tcp"), Name: rapid.SampledFrom([]string{".", "no", "1e3.", "www.example"}).Draw(t, "name"),
		Type: rapid.SampledFrom([]string{"A", "AAAA", "SOA", "TYPE99"}).Draw(t, "type"), Class: rapid.SampledFrom([]string{"IN", "CH"}).Draw(t, "class"),
		RCode:  rapid.SampledFrom([]string{"NOERROR", "NXDOMAIN", "REFUSED"}).Draw(t, "rcode"),
		Source: rapid.SampledFrom([]netip.Addr{{}, netip.MustParseAddr("192.0.2.1")}).Draw(t, "source"),
	}
	if d.RCode == "NOERROR" {
		d.MinAnswers = rapid.IntRange(0, 1000).Draw(t, "least")
		d.Answer = rapid.SampledFrom([]string{"", "^192", "true", "a\nb"}).Draw(t, "answer")
	}
	return d
}

// checkOf parses minimal.yaml with its check replaced by the lines given.
func checkOf(t *testing.T, lines string) healthcheck.Check {
	t.Helper()
	text := strings.Replace(read(t, "minimal.yaml"), `http: {url: "http://198.51.100.1:8080/health"}`, lines, 1)
	cfg, _, err := Parse("f", []byte(text), testOptions())
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return cfg.Services[0].Checks[0]
}

// A probe has time left to say that max_time was not enough.
func TestTimeoutIsAboveMaxTime(t *testing.T) {
	for lines, want := range map[string]time.Duration{
		"http: {url: 'http://x/', min_bytes: 1, max_time: 4s}, interval: 10s":              4500 * time.Millisecond,
		"http: {url: 'http://x/', min_bytes: 1, max_time: 4s}, interval: 4.5s":             4250 * time.Millisecond,
		"http: {url: 'http://x/', min_bytes: 1, max_time: 100ms}":                          550 * time.Millisecond,
		"http: {url: 'http://x/', min_bytes: 1, max_time: 4s}, interval: 10s, timeout: 4s": 4 * time.Second,
		"http: {url: 'http://x/', min_bytes: 1, max_time: 4s}, interval: 10s, timeout: 9s": 9 * time.Second,
		"http: {url: 'http://x/', min_bytes: 1}":                                           500 * time.Millisecond,
	} {
		check := checkOf(t, lines)
		if check.Timeout != want || check.Timeout < check.HTTP.MaxTime || check.FastInterval < check.Timeout {
			t.Errorf("%s: timeout %v, fast interval %v; want a timeout of %v", lines, check.Timeout, check.FastInterval, want)
		}
	}
}

func TestEachKindGetsItsDefaults(t *testing.T) {
	for lines, want := range map[string]string{
		"dns: {server: '192.0.2.53:53', name: example.net}":                 "dns: server: 192.0.2.53:53 transport: udp name: example.net type: A class: IN rcode: NOERROR min_answers: 1 interval:",
		"dns: {server: '192.0.2.53:53', name: example.net, rcode: refused}": "rcode: REFUSED min_answers: 0 interval:",
		"icmp: {address: 192.0.2.1}":                                        "icmp: address: 192.0.2.1 count: 1 min_replies: 1 interval:",
		"grpc: {address: 'h:1'}":                                            "grpc: address: h:1 tls: false interval:",
		"exec: {command: [/bin/test, -e, 5]}":                               `exec: command: [/bin/test, -e, "5"] exit: [0] directory: / interval:`,
		"unit: {name: nginx.service}":                                       "unit: name: nginx.service interval:",
		"file: {path: /run/x}":                                              "file: path: /run/x present: false interval:",
	} {
		text := strings.Replace(read(t, "minimal.yaml"), `http: {url: "http://198.51.100.1:8080/health"}`, lines, 1)
		cfg, _, err := Parse("f", []byte(text), testOptions())
		if err != nil {
			t.Errorf("%s: %v", lines, err)
			continue
		}
		if got := strings.Join(strings.Fields(printed(t, cfg)), " "); !strings.Contains(got, want) {
			t.Errorf("%s: no\n%s\nin\n%s", lines, want, got)
		}
	}
}

func TestAuthoritiesAreReadWithTheFile(t *testing.T) {
	check := checkOf(t, "http: {url: 'https://x/', ca_file: ca.pem}")
	want := read(t, "ca.pem")
	if check.HTTP.TLS.CA != want || check.HTTP.TLS.CAFile != filepath.Join("testdata", "ca.pem") {
		t.Errorf("%d bytes from %s, want %d", len(check.HTTP.TLS.CA), check.HTTP.TLS.CAFile, len(want))
	}
	if check = checkOf(t, "grpc: {address: 'h:1', tls: true, ca_file: ca.pem}"); check.GRPC.TLS.CA != want {
		t.Errorf("%d bytes, want %d", len(check.GRPC.TLS.CA), len(want))
	}
}
