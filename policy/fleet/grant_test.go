package fleet

import (
	"slices"
	"testing"
	"time"
)

func TestNoReportButOneFreesAGrant(t *testing.T) {
	before := Report{Number: 7, Announcing: true}
	wants := Report{Number: 8, Wants: true, Announcing: true}
	holds := Report{Number: 8, Wants: true, Held: true}
	gone := Report{Number: 8}
	back := Report{Number: 8, Announcing: true}
	cases := []struct {
		name   string
		state  State
		report Report
		want   State // "": freed
	}{
		{"a report from before it was asked for", Offered, before, Offered},
		{"a report from before it was asked for", Revoked, before, Revoked},
		{"still wanted: the offer may be on its way", Offered, wants, Offered},
		{"in use", Offered, holds, Held},
		{"no longer wanted", Offered, back, ""},
		{"no longer wanted, and away for something else", Offered, gone, Returning},
		{"in use", Held, holds, Held},
		{"given up", Held, gone, Returning},
		{"given up and back", Held, back, ""},
		{"a restart that has forgotten it, but asks again", Held, wants, Offered},
		{"on its way", Returning, gone, Returning},
		{"back", Returning, back, ""},
		{"in use again", Returning, holds, Held},
		{"taken back, and not heard of", Revoked, holds, Revoked},
		{"taken back, and not heard of", Revoked, wants, Revoked},
		{"taken back, and kept away by a failure", Revoked, gone, Revoked},
		{"taken back, and back", Revoked, back, ""},
	}
	for _, c := range cases {
		g := Grant{ID: "x", State: c.state, Asked: 7}
		next, freed := g.Next(c.report)
		if freed != (c.want == "") || !freed && next.State != c.want {
			t.Errorf("%s, %s: %s, freed %v; want %q", c.state, c.name, next.State, freed, c.want)
		}
		if next.Asked != 7 || next.ID != "x" {
			t.Errorf("%s: changed to %+v", c.name, next)
		}
	}
	if g := held("n00").Revoke(); g.State != Revoked {
		t.Errorf("%+v", g)
	}
}

func TestLeaseEndsBeforeItsTTL(t *testing.T) {
	end := t0.Add(TTL - Margin)
	cases := []struct {
		name  string
		lease Lease
		now   time.Time
		want  bool
	}{
		{"fresh", Lease{Kind: Load, Begun: true}, t0, true},
		{"just before", Lease{Kind: Load, Begun: true}, end.Add(-1), true},
		{"run out", Lease{Kind: Load, Begun: true}, end, false},
		{"a soft failure's", Lease{Kind: SoftFailure, Begun: true}, end, false},
		{"a window's that has begun", Lease{Kind: Window, Begun: true}, end.Add(time.Hour), true},
		{"a window's that has not", Lease{Kind: Window}, end, false},
		{"revoked", Lease{Kind: Window, Begun: true, State: Revoked}, t0, false},
	}
	for _, c := range cases {
		c.lease.Sent, c.lease.TTL = t0, TTL
		if got := c.lease.MayAct(c.now); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}

func TestRecallTakesBackWhatNobodyAskedForWhenTooFewAreLeft(t *testing.T) {
	f := alike(4, 0, Limits{MinAnnouncing: 2})
	f.Grants = []Grant{
		{ID: "w", Node: "n00", Service: "video", Kind: Window, State: Held},
		{ID: "s", Node: "n01", Service: "video", Kind: SoftFailure, State: Held},
		{ID: "l", Node: "n01", Service: "video", Kind: Load, State: Held},
		{ID: "r", Node: "n01", Service: "video", Kind: Load, State: Revoked},
	}
	if got := Recall(f); len(got) != 0 {
		t.Errorf("two are left: %v", got)
	}
	f.stand("n02", func(s *Standing) { s.Announcing = false })
	if got := Recall(f); !slices.Equal(got, []string{"l", "s"}) {
		t.Errorf("one is left: %v", got)
	}
}
