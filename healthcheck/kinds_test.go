package healthcheck

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"testing"
	"testing/synctest"
	"time"
)

// oneOfEach is a valid check of every kind.
func oneOfEach() map[string]Check {
	checks := map[string]Check{
		"dns":  {DNS: &DNS{Server: "127.0.0.1:53", Name: "example.net"}},
		"exec": {Exec: &Exec{Command: []string{"/bin/true"}}},
		"file": {File: &File{Path: "/run/disable"}},
		"grpc": {GRPC: &GRPC{Address: "127.0.0.1:50051"}},
		"http": {HTTP: &HTTP{URL: "http://127.0.0.1/"}},
		"icmp": {ICMP: &ICMP{Address: netip.MustParseAddr("127.0.0.1")}},
		"tcp":  {TCP: &TCP{Address: "127.0.0.1:80"}},
		"unit": {Unit: &Unit{Name: "nginx.service"}},
	}
	for name, c := range checks {
		c.Interval, c.Timeout, c.Rise, c.Fall = time.Second, 500*time.Millisecond, 1, 1
		checks[name] = c
	}
	return checks
}

func TestEachKindIsKnown(t *testing.T) {
	checks := oneOfEach()
	for name := range kinds {
		if _, ok := checks[name]; !ok {
			t.Errorf("no check of kind %s to try", name)
		}
	}
	for name, c := range checks {
		if _, err := New(c); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestOnlyHTTPAndTCPCanBeWatched(t *testing.T) {
	for name, c := range oneOfEach() {
		c.Watch = true
		if name == "http" || name == "tcp" {
			if _, err := New(c); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		refusedWith(t, c, fmt.Sprintf("watch: %s has no connection to watch: leave watch out, or use http or tcp", name))
	}
}

func TestTimeoutsSayHowFarTheProbeCame(t *testing.T) {
	for _, c := range []struct {
		err  error
		want string
	}{
		{progress("1 of 3 replies"), "timeout after 500ms: 1 of 3 replies"},
		{fmt.Errorf("reading: %w", progress("half")), "timeout after 500ms: half"},
		{progress(""), "timeout after 500ms"},
		{errors.New("whatever"), "timeout after 500ms"},
		{nil, "timeout after 500ms"},
		{os.ErrDeadlineExceeded, "timeout after 500ms"},
	} {
		synctest.Test(t, func(t *testing.T) {
			checker := &Checker{check: benchCheck(), probe: func(ctx context.Context) error {
				<-ctx.Done()
				return c.err
			}}
			if got := explain(checker.attempt(t.Context())); got != c.want {
				t.Errorf("%v: %q, want %q", c.err, got, c.want)
			}
		})
	}
}
