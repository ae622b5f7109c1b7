package netlab

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestRequireNamesWhatIsMissing(t *testing.T) {
	none := func(string) bool { return false }
	all := func(string) bool { return true }
	for name, c := range map[string]struct {
		needs  []Need
		uid    int
		exists func(string) bool
		want   []string // parts of the lines, in order
	}{
		"nothing": {[]Need{Root, FRRouting, BIRDRouting, NginxServer, Nft, Tcpdump, Tc, OpenBGPDRouting, ExaBGPRouting}, 0, all, nil},
		"root":    {[]Need{Root}, 1000, all, []string{"root"}},
		"routers": {[]Need{FRRouting, BIRDRouting, OpenBGPDRouting, ExaBGPRouting}, 0, none,
			[]string{"apt-get install frr", "apt-get install bird2", "apt-get install openbgpd", "apt-get install exabgp"}},
		"tools":      {[]Need{Nft, Tcpdump, NginxServer}, 0, none, []string{"nftables", "tcpdump", "nginx-light"}},
		"everything": {[]Need{Root, Tc}, 1000, none, []string{"root", "iproute2", "iproute2"}},
	} {
		got := lacking(c.needs, c.uid, c.exists)
		if len(got) != len(c.want) {
			t.Errorf("%s: %q", name, got)
			continue
		}
		for i, part := range c.want {
			if !strings.Contains(got[i], part) {
				t.Errorf("%s: line %q without %q", name, got[i], part)
			}
		}
	}
}

func TestRequireFailsInCIAndSkipsElsewhere(t *testing.T) {
	for _, ci := range []bool{true, false} {
		r := &recorder{}
		r.run(func() { refuse(r, ci, []string{"FRR: apt-get install frr"}) })
		if r.failed != ci || r.skipped == ci {
			t.Errorf("CI %v: failed %v, skipped %v", ci, r.failed, r.skipped)
		}
		if !strings.Contains(r.text(), "apt-get install frr") {
			t.Errorf("CI %v: said %q", ci, r.text())
		}
	}
}

func TestEventuallyReturnsAtTheFirstSuccess(t *testing.T) {
	calls := 0
	Eventually(t, 5*time.Second, "the third call", func() error {
		if calls++; calls < 3 {
			return errors.New("not yet")
		}
		return nil
	})
	if calls != 3 {
		t.Errorf("%d calls", calls)
	}
}

func TestEventuallyFailsWithTheLastError(t *testing.T) {
	r := &recorder{}
	r.run(func() {
		Eventually(r, 50*time.Millisecond, "the moon", func() error { return errors.New("cloudy") })
		r.note("went on")
	})
	if want := "waited 50ms for the moon: cloudy"; !r.failed || r.text() != want {
		t.Errorf("said %q, want %q", r.text(), want)
	}
}

func TestBinaryIsBuiltOnce(t *testing.T) {
	first := Binary(t, "./lab/netlab/testdata/hello")
	before, err := os.Stat(first)
	if err != nil {
		t.Fatal(err)
	}
	second := Binary(t, "./lab/netlab/testdata/hello")
	after, err := os.Stat(second)
	if err != nil || first != second || !after.ModTime().Equal(before.ModTime()) {
		t.Errorf("%s, then %s: %v", first, second, err)
	}
	if filepath.Base(first) != "hello" {
		t.Errorf("path %s", first)
	}
}

func TestBinaryThatDoesNotBuildFailsTheTest(t *testing.T) {
	r := &recorder{}
	r.run(func() { Binary(r, "./lab/netlab/no-such-command") })
	if !r.failed || !strings.Contains(r.text(), "no-such-command") {
		t.Errorf("said %q", r.text())
	}
}
