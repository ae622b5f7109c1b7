package healthcheck

import (
	"math/big"
	"testing"

	"pgregory.net/rapid"
)

func TestRequire(t *testing.T) {
	for _, c := range []struct {
		require   Require
		text      string
		up, total int
		met       bool
	}{
		{Require{Mode: RequireAll}, "all", 3, 3, true},
		{Require{Mode: RequireAll}, "all", 2, 3, false},
		{Require{Mode: RequireAny}, "any", 1, 3, true},
		{Require{Mode: RequireAny}, "any", 0, 3, false},
		{Require{RequireAtLeast, 2}, "at least 2", 2, 3, true},
		{Require{RequireAtLeast, 2}, "at least 2", 1, 3, false},
		{Require{RequireAtLeast, 2}, "at least 2", 1, 1, false},
		{Require{RequirePercent, 50}, "50%", 1, 2, true},
		{Require{RequirePercent, 50}, "50%", 1, 3, false},
		{Require{RequirePercent, 50}, "50%", 2, 3, true},
		{Require{RequirePercent, 100}, "100%", 199, 200, false},
		{Require{RequirePercent, 67}, "67%", 2, 3, false},
		{Require{Mode: 9}, "unknown requirement 9", 2, 3, false},
		{Require{Mode: 9}, "unknown requirement 9", 3, 3, true},
	} {
		if got := c.require.Met(c.up, c.total); got != c.met {
			t.Errorf("%v with %d of %d: %v, want %v", c.require, c.up, c.total, got, c.met)
		}
		if got := c.require.String(); got != c.text {
			t.Errorf("String() = %q, want %q", got, c.text)
		}
	}
}

func TestRequireWithoutChecksIsMet(t *testing.T) {
	for _, r := range []Require{{}, {Mode: RequireAny}, {RequireAtLeast, 2}, {RequirePercent, 100}} {
		if !r.Met(0, 0) {
			t.Errorf("%v of no checks is not met", r)
		}
	}
}

// slowMet counts the checks one by one, with fractions.
func slowMet(r Require, up, total int) bool {
	if total == 0 {
		return true
	}
	need := new(big.Rat)
	switch r.Mode {
	case RequireAll:
		need.SetInt64(int64(total))
	case RequireAny:
		need.SetInt64(1)
	case RequireAtLeast:
		need.SetInt64(int64(r.N))
	case RequirePercent:
		need.Mul(big.NewRat(int64(r.N), 100), big.NewRat(int64(total), 1))
	}
	have := new(big.Rat)
	for range up {
		have.Add(have, big.NewRat(1, 1))
	}
	return have.Cmp(need) >= 0
}

func TestRequireAgreesWithCounting(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := Require{RequireMode(rapid.IntRange(0, 3).Draw(t, "mode")), rapid.IntRange(0, 120).Draw(t, "n")}
		total := rapid.IntRange(0, 40).Draw(t, "total")
		up := rapid.IntRange(0, total).Draw(t, "up")
		if got, want := r.Met(up, total), slowMet(r, up, total); got != want {
			t.Fatalf("%v with %d of %d: %v, want %v", r, up, total, got, want)
		}
		if r.Met(up, total) && !r.Met(total, total) && r.Mode != RequireAtLeast && r.N <= 100 {
			t.Fatalf("%v is met by %d of %d but not by all", r, up, total)
		}
	})
}
