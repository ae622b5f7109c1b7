package flap

import (
	"math"
	"strings"
	"testing"
	"time"
)

// TestCheckNamesWhatIsWrong: each line breaks one thing of a good configuration.
func TestCheckNamesWhatIsWrong(t *testing.T) {
	for want, spoil := range map[string]func(*Config){
		``:                                    func(*Config) {},
		`flap profile 0 (""): it has no name`: func(c *Config) { c.Profiles[0].Name = "" },
		`flap profile 1 ("cisco"): the name stands twice`:                              func(c *Config) { c.Profiles[1].Name = "cisco" },
		`flap profile 0 ("cisco"): charges -1, 0 and 500: want 0 to 1e+09`:             func(c *Config) { c.Profiles[0].Withdrawal = -1 },
		`flap profile 0 ("cisco"): charges 1000, NaN and 500: want 0 to 1e+09`:         func(c *Config) { c.Profiles[0].Readvertisement = math.NaN() },
		`flap profile 0 ("cisco"): charges 1000, 0 and +Inf: want 0 to 1e+09`:          func(c *Config) { c.Profiles[0].AttributeChange = math.Inf(1) },
		`flap profile 0 ("cisco"): reuse 0: want more than 0 and less than suppress`:   func(c *Config) { c.Profiles[0].Reuse = 0 },
		`flap profile 1 ("juniper"): reuse 3000: want more than 0 and less than supp`:  func(c *Config) { c.Profiles[1].Reuse = 3000 },
		`flap profile 0 ("cisco"): half-life 0s: want 1s or more`:                      func(c *Config) { c.Profiles[0].HalfLife = 0 },
		`("cisco"): max suppress 15m0s: the most a penalty can be is then 1500; want `: func(c *Config) { c.Profiles[0].MaxSuppress = 15 * time.Minute },
		`flap exploration 0.5: want 1 to 100, or 0 for 1`:                              func(c *Config) { c.Exploration = 0.5 },
		`flap exploration NaN: want 1 to 100, or 0 for 1`:                              func(c *Config) { c.Exploration = math.NaN() },
		`flap margin -0.1: want 0 or more, and less than 1`:                            func(c *Config) { c.Margin = -0.1 },
		`flap margin 1: want 0 or more, and less than 1`:                               func(c *Config) { c.Margin = 1 },
	} {
		c := Default()
		spoil(&c)
		switch err := c.Check(); {
		case want == "" && err != nil:
			t.Errorf("the default: %v", err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%v, want %q", err, want)
		}
	}
	if err := (Config{}).Check(); err != nil {
		t.Errorf("no budget: %v", err)
	}
}

// TestNoProfileIsNoBudget: nothing is charged, everything is allowed.
func TestNoProfileIsNoBudget(t *testing.T) {
	var l Ledger
	for range 100 {
		if ok, next := l.Allow(Config{}, Share{4, 1}, t0, Withdrawal, video); !ok || !next.Equal(t0) {
			t.Fatalf("allowed is %v, next %v", ok, next)
		}
		l = l.Charge(Config{}, t0, Withdrawal, video)
	}
	if l.Len() != 0 || l.Penalty(Config{}, video, t0) != 0 {
		t.Errorf("%d keys have a penalty", l.Len())
	}
}

// TestNonsenseAllowsNothing: a configuration that Check refuses neither panics nor
// opens the gate.
func TestNonsenseAllowsNothing(t *testing.T) {
	for name, spoil := range map[string]func(*Config){
		"a suppress of NaN":    func(c *Config) { c.Profiles[0].Suppress = math.NaN() },
		"a charge of NaN":      func(c *Config) { c.Profiles[0].AttributeChange = math.NaN() },
		"a charge of Inf":      func(c *Config) { c.Profiles[0].AttributeChange = math.Inf(1) },
		"a negative suppress":  func(c *Config) { c.Profiles[0].Suppress = -1 },
		"no half-life":         func(c *Config) { c.Profiles[0].HalfLife = 0 },
		"a negative half-life": func(c *Config) { c.Profiles[0].HalfLife = -time.Minute },
		"exploration NaN":      func(c *Config) { c.Exploration = math.NaN() },
		"margin NaN":           func(c *Config) { c.Margin = math.NaN() },
		"margin over 1":        func(c *Config) { c.Margin = 2 },
		"an endless half-life": func(c *Config) { c.Profiles[0].HalfLife = math.MaxInt64 },
		"a charge of nearly 0": func(c *Config) { c.Profiles[0].AttributeChange = 9e8; c.Profiles[0].Suppress = 2.3e9 },
		"a cost over anything": func(c *Config) { c.Profiles[0].AttributeChange = math.MaxFloat64 },
	} {
		c := Default()
		spoil(&c)
		var l Ledger
		for range 3 {
			l = l.Charge(c, t0, AttributeChange, video)
		}
		for _, s := range []Share{{}, {4, 0}} {
			if ok, _ := l.Allow(c, s, at(time.Minute), AttributeChange, video); ok {
				t.Errorf("%s: allowed after three changes", name)
			}
		}
		if p := l.Penalty(c, video, at(time.Minute)); !(p >= 0 && p <= mostPenalty) {
			t.Errorf("%s: penalty %v", name, p)
		}
	}
}
