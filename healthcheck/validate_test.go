package healthcheck

import (
	"math"
	"strings"
	"testing"
	"time"
)

func TestNewSaysWhatToWriteInstead(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*Check)
		want   string
	}{
		{"no kind", func(c *Check) { c.TCP = nil }, "kind: none is set: add one of dns, exec, file, grpc, http, icmp, tcp, unit"},
		{"two kinds", func(c *Check) { c.HTTP = &HTTP{URL: "http://h/"} },
			"kind: http and tcp are set together: keep one and make each other a check of its own"},
		{"no interval", func(c *Check) { c.Interval = 0; c.FastInterval = 0 }, "interval: 0s is not above zero: write for example 1s"},
		{"no timeout", func(c *Check) { c.Timeout = 0 }, "timeout: 0s is not above zero: write a time below the interval 1s"},
		{"timeout of the interval", func(c *Check) { c.Timeout = time.Second }, "timeout: 1s is not below the interval 1s: write 500ms or less"},
		{"fast interval below zero", func(c *Check) { c.FastInterval = -1 }, "fast_interval: -1ns is below zero: leave it out for the interval 1s"},
		{"slow fast interval", func(c *Check) { c.FastInterval = 2 * time.Second }, "fast_interval: 2s is longer than the interval 1s: write 1s or less"},
		{"no rise", func(c *Check) { c.Rise = 0 }, "rise: 0 passes in a row are no evidence: write 1 or more"},
		{"no fall", func(c *Check) { c.Fall = -1 }, "fall: -1 failures in a row are no evidence: write 1 or more"},
		{"jitter too large", func(c *Check) { c.Jitter = 0.6 }, "jitter: 0.6 is not a share of the interval: write 0 to 0.5"},
		{"jitter no number", func(c *Check) { c.Jitter = math.NaN() }, "jitter: NaN is not a share of the interval: write 0 to 0.5"},
		{"grace below zero", func(c *Check) { c.RestartGrace = -time.Second }, "restart_grace: -1s is below zero: write 0s for none"},
		{"address without port", func(c *Check) { c.TCP.Address = "127.0.0.1" },
			`tcp.address: "127.0.0.1" is not host:port: write for example 127.0.0.1:80 or [::1]:80`},
		{"address without host", func(c *Check) { c.TCP.Address = ":80" },
			`tcp.address: ":80" is not host:port: write for example 127.0.0.1:80 or [::1]:80`},
		{"named port", func(c *Check) { c.TCP.Address = "h:http" }, `tcp.address: port "http" is not a port: write a number from 1 to 65535`},
	} {
		t.Run(c.name, func(t *testing.T) {
			check := Check{TCP: &TCP{Address: "127.0.0.1:80"}, Interval: time.Second, Timeout: 500 * time.Millisecond, Rise: 1, Fall: 1}
			c.change(&check)
			refusedWith(t, check, c.want)
		})
	}
}

func TestNewRefusesBadHTTP(t *testing.T) {
	example := ": write for example http://127.0.0.1:80/health"
	for _, c := range []struct {
		http HTTP
		want string
	}{
		{HTTP{}, `http.url: "" is not an absolute http or https URL` + example},
		{HTTP{URL: "h/health"}, `http.url: "h/health" is not an absolute http or https URL` + example},
		{HTTP{URL: "ftp://user:secret@h/"}, `http.url: "ftp://user:xxxxx@h/" is not an absolute http or https URL` + example},
		{HTTP{URL: "http://:80/"}, `http.url: "http://:80/" is not an absolute http or https URL` + example},
		{HTTP{URL: "http://h:x/"}, `http.url: not a URL: invalid port ":x" after host` + example},
		{HTTP{URL: "http://h:70000/"}, `http.url: port "70000" is not a port: write a number from 1 to 65535`},
		{HTTP{URL: "http://h/", Method: "GET IT"}, `http.method: net/http: invalid method "GET IT": write for example GET`},
		{HTTP{URL: "http://h/", Status: []int{200, 99}}, `http.status: 99 is not a final HTTP status: write 200 to 599`},
		{HTTP{URL: "http://h/", Body: "("}, "http.body: not a regular expression (RE2): error parsing regexp: missing closing ): `(`: quote special characters with a backslash"},
		{HTTP{URL: "http://h/", Body: "ok", Method: "HEAD"}, `http.body: an answer to HEAD has no body: use method GET or leave body out`},
		{HTTP{URL: "http://h/", Headers: map[string]string{"A B": "x"}}, `http.headers: "A B" is not a header name: write for example X-Probe`},
		{HTTP{URL: "http://h/", Headers: map[string]string{"A": "x\r\nB: y"}}, `http.headers: the value of "A" has characters that a header cannot carry: write one line of text`},
		{HTTP{URL: "http://h/", Headers: map[string]string{"content-length": "5"}}, `http.headers: Content-Length is set by the probe itself: remove it`},
		{HTTP{URL: "http://h/", Headers: map[string]string{"Host": ""}}, `http.headers: "" is not a Host: write a name or an address`},
		{HTTP{URL: "http://h/", Headers: map[string]string{"Host": "a", "host": "b"}}, `http.headers: Host is given twice: keep one`},
	} {
		t.Run(c.want, func(t *testing.T) { refusedWith(t, httpCheck(c.http), c.want) })
	}
}

func TestNewNamesEverythingThatIsWrong(t *testing.T) {
	_, err := New(Check{HTTP: &HTTP{URL: "nothing", Body: "("}, Interval: time.Second, Timeout: 2 * time.Second, Fall: 1})
	many, ok := err.(interface{ Unwrap() []error })
	if !ok {
		t.Fatalf("%v is not a join of errors", err)
	}
	var fields []string
	for _, e := range many.Unwrap() {
		field, _, _ := strings.Cut(e.Error(), ":")
		fields = append(fields, field)
	}
	if got := strings.Join(fields, " "); got != "timeout rise http.url http.body" {
		t.Errorf("wrong fields: %s; error: %v", got, err)
	}
}

func TestNewTakesTheSmallestCheck(t *testing.T) {
	c, err := New(Check{TCP: &TCP{Address: "[fe80::1%lo]:80"}, Interval: 2, Timeout: 1, Rise: 1, Fall: 1, Watch: true})
	if err != nil {
		t.Fatal(err)
	}
	if c.check.FastInterval != 2 {
		t.Errorf("fast interval %v, want the interval", c.check.FastInterval)
	}
}

func TestWatchNeedsAConnection(t *testing.T) {
	kinds["still"] = func(Check) (*target, []error) { return &target{probe: nil}, nil }
	defer delete(kinds, "still")
	refusedWith(t, Check{Interval: 2, Timeout: 1, Rise: 1, Fall: 1, Watch: true},
		"watch: still has no connection to watch: leave watch out, or use http or tcp")
}

func refusedWith(t *testing.T, c Check, want string) {
	t.Helper()
	checker, err := New(c)
	if err == nil || checker != nil {
		t.Fatalf("accepted: %+v", c)
	}
	if err.Error() != want {
		t.Errorf("error\n%s\nwant\n%s", err, want)
	}
}
