package store

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// keepWriting commits a number to key until it was written, and returns its revision.
func keepWriting(t *testing.T, s Store, key string, n int, within time.Duration) Revision {
	t.Helper()
	deadline := time.Now().Add(within)
	for {
		r, err := s.Commit(t.Context(), nil, []Op{{key, fmt.Append(nil, n)}})
		if err == nil {
			return r
		}
		if !errors.Is(err, ErrUnavailable) || time.Now().After(deadline) {
			t.Fatalf("commit %d: %v", n, err)
		}
	}
}

func TestWritesAndWatchesGoOnWhenAMemberDies(t *testing.T) {
	for victim := range 3 {
		t.Run(fmt.Sprint("member ", victim), func(t *testing.T) {
			c := startCluster(t)
			s := c.open(t)
			events := s.Watch(t.Context(), "n", put(t, s, "n", `0`))
			for i := 1; i <= 10; i++ {
				keepWriting(t, s, "n", i, 5*time.Second)
			}
			c.members[victim].kill()
			died := time.Now()
			keepWriting(t, s, "n", 11, 5*time.Second)
			t.Logf("the first write after %s", time.Since(died))
			last := keepWriting(t, s, "n", 12, 5*time.Second)
			seen := 0
			for {
				e, _ := next(t, events)
				if e.Err != nil {
					t.Fatal(e.Err)
				}
				var n int
				fmt.Sscan(string(e.Items[0].Value), &n)
				// A commit whose outcome was unknown may have been made, and made again.
				if n != seen+1 && n != seen {
					t.Fatalf("the watch saw %d after %d", n, seen)
				}
				seen = n
				if e.Revision == last {
					break
				}
			}
			want(t, "last seen", seen, 12)
		})
	}
}

func TestWithoutAMajorityNothingIsAcknowledged(t *testing.T) {
	c := startCluster(t)
	s, err := Dial(t.Context(), c.endpoints, c.tls, Options{Timeout: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	events := s.Watch(t.Context(), "", put(t, s, "a", `1`))
	c.members[0].kill()
	c.members[1].kill()
	start := time.Now()
	_, err = s.Commit(t.Context(), nil, []Op{{"a", []byte(`2`)}})
	wantError(t, "Commit", err, ErrUnavailable)
	_, err = s.Get(t.Context(), "a")
	wantError(t, "Get", err, ErrUnavailable)
	if took := time.Since(start); took > 10*time.Second {
		t.Errorf("two calls took %s", took)
	}
	for i := range 2 {
		c.restart(t, i)
	}
	last := keepWriting(t, s, "a", 3, 30*time.Second)
	for e := (Event{}); e.Revision < last; {
		if e, _ = next(t, events); e.Err != nil {
			t.Fatal(e.Err)
		}
	}
}

func TestDialSaysWhoDoesNotAnswer(t *testing.T) {
	c := startCluster(t)
	none := fmt.Sprintf("https://127.0.0.1:%d", freePorts(t, 1)[0])
	for name, test := range map[string]struct {
		endpoints []string
		tls       *tls.Config
	}{
		"nobody listens": {[]string{none}, c.tls},
		"no certificate": {c.endpoints, &tls.Config{RootCAs: c.tls.RootCAs}},
		"another CA":     {c.endpoints, writeCertificates(t, t.TempDir())},
		"no TLS":         {[]string{strings.Replace(c.endpoints[0], "https", "http", 1)}, nil},
	} {
		start := time.Now()
		_, err := Dial(t.Context(), test.endpoints, test.tls, Options{Timeout: time.Second})
		wantError(t, name, err, ErrUnavailable)
		if !strings.Contains(err.Error(), test.endpoints[0]) || !strings.Contains(err.Error(), "certificates") {
			t.Errorf("%s: error %q", name, err)
		}
		if took := time.Since(start); took > 10*time.Second {
			t.Errorf("%s: it took %s", name, took)
		}
	}
	_, err := Dial(t.Context(), nil, nil, Options{})
	wantError(t, "no endpoint", err, ErrInvalid)
	s, err := Dial(t.Context(), append([]string{none}, c.endpoints...), c.tls, Options{})
	if err != nil {
		t.Fatalf("with one endpoint of four dead: %v", err)
	}
	put(t, s, "a", `1`)
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if s.Failed() != nil {
		t.Error("a cluster elsewhere can fail here")
	}
}

// restart starts a member that was killed again.
func (c *cluster) restart(t *testing.T, i int) {
	t.Helper()
	old := c.members[i].cmd.Args
	c.members[i] = spawn(t, "member", old[1:]...)
	t.Logf("member %s starts again in %s", old[2], filepath.Base(old[1]))
}

func TestASlowReaderInMemoryIsToldWhatItMissed(t *testing.T) {
	s := NewMemory()
	s.keeps = 10
	events := s.Watch(t.Context(), "", 1)
	first := put(t, s, "a", `0`)
	if e, _ := next(t, events); e.Revision != first {
		t.Fatalf("event %v", e)
	}
	for i := range 100 {
		put(t, s, "a", fmt.Sprint(i))
	}
	for e := (Event{}); ; {
		if e, _ = next(t, events); e.Err != nil {
			wantError(t, "the watch", e.Err, ErrCompacted)
			break
		}
		if e.Revision > first+2*10 {
			t.Fatalf("event %v of what is no longer kept", e)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.log) > 2*s.keeps || len(s.items["a"]) > 2*s.keeps+1 {
		t.Errorf("%d revisions and %d versions are kept", len(s.log), len(s.items["a"]))
	}
}

func TestADeletedKeyTakesNoMemory(t *testing.T) {
	s := NewMemory()
	put(t, s, "a", `1`)
	last := remove(t, s, "a")
	if err := s.Compact(context.Background(), last); err != nil {
		t.Fatal(err)
	}
	if len(s.items) != 0 || len(s.log) != 0 {
		t.Errorf("kept: %v, %v", s.items, s.log)
	}
}
