package policy

import (
	"testing"
	"time"

	"go.uber.org/goleak"
	"pgregory.net/rapid"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// t0 is when the tests begin.
var t0 = time.Date(2026, 3, 29, 0, 30, 0, 0, time.UTC)

func at(d time.Duration) time.Time { return t0.Add(d) }

// ladder is the wait for the return that the tests use, as it is by default.
var ladder = []time.Duration{10 * time.Second, time.Minute, 5 * time.Minute, 30 * time.Minute}

// both is a neighbour that carries both families.
func both(name string) Neighbor { return Neighbor{Name: name, IPv4: true, IPv6: true} }

// node is a configuration of one service at two neighbours.
func node() Config {
	return Config{
		Services:    []Service{{Name: "video", Neighbors: []Neighbor{both("a"), both("b")}}},
		ReturnAfter: ladder, Grace: 5 * time.Second,
	}
}

// healthy is an input in which all is well.
func healthy(now time.Time) Input {
	return Input{Now: now, Health: map[string]Health{"video": {Hard: Up, Soft: Up}}, WayBack4: Up, WayBack6: Up}
}

// with is a healthy input but for the service's health.
func with(now time.Time, hard, soft Verdict) Input {
	in := healthy(now)
	in.Health["video"] = Health{Hard: hard, Soft: soft, HardDetail: "web: refused", SoftDetail: "origin: slow"}
	return in
}

// inService is the state of a node that has announced video since t0.
func inService(t rapid.TB) State {
	t.Helper()
	s, d := Next(node(), State{}, healthy(t0))
	if d.Services[0].Severity != Announced {
		t.Fatalf("a healthy service is %v", d.Services[0].Cause)
	}
	return s
}
