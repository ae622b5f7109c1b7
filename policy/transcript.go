package policy

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"

	"github.com/catchment-bgp/catchment/policy/control"
	"github.com/catchment-bgp/catchment/policy/flap"
)

// Record is one decision and all that it was made of: enough to make it again. Its
// JSON form loses what times know of the monotonic clock; nothing else.
type Record struct {
	// Config is the digest of the configuration.
	Config string `json:"config"`
	// Memory is the state before. Without one it is that after the record before.
	Memory   *Memory  `json:"memory,omitempty"`
	Input    Input    `json:"input"`
	Decision Decision `json:"decision"`
}

// Digest names a configuration.
func Digest(c Config) string {
	sum := sha256.Sum256(jsonOf(c))
	return hex.EncodeToString(sum[:8])
}

// jsonOf is the JSON form; of what has a number that is none, the error.
func jsonOf(v any) []byte {
	text, err := json.Marshal(v)
	if err != nil {
		return fmt.Append(nil, err)
	}
	return text
}

// Replay makes recorded decisions again, under the configuration they were made
// under, and returns how the first one that comes out otherwise differs. Without
// memory in the first record it begins with the zero State.
func Replay(c Config, records []Record) error {
	var s State
	digest := Digest(c)
	for i, rec := range records {
		if rec.Config != digest {
			return fmt.Errorf("policy: record %d was made under configuration %s, not %s", i, rec.Config, digest)
		}
		if rec.Memory != nil {
			s = rec.Memory.State()
		}
		var d Decision
		s, d = Next(c, s, rec.Input)
		if got, want := jsonOf(d), jsonOf(rec.Decision); !bytes.Equal(got, want) {
			return fmt.Errorf("policy: record %d, of %s: decided %s; it says %s", i, rec.Input.Now.Format(time.RFC3339), got, want)
		}
	}
	return nil
}

// Memory is a State whose JSON form keeps everything, not only what must survive
// a restart.
type Memory struct {
	Services           map[string]serviceMemory `json:"services,omitempty"`
	WayBack4, WayBack6 wayBackMemory
	Load               loadMemory `json:"load"`
}

// The types below are those of State, field by field, with other JSON names.
type (
	holdMemory struct {
		Failures     []time.Time
		Held         bool
		After        int
		InService    bool
		HealthySince time.Time
	}
	serviceMemory struct {
		Hard, Soft holdMemory
		Last       Cause
		Since      time.Time
	}
	wayBackMemory struct {
		Hold      holdMemory
		LostSince time.Time
	}
	linkMemory struct {
		Name      string
		Control   control.State
		Capacity  float64
		InForce   float64
		Before    float64
		Moved     time.Time
		OverSince time.Time
		Then      float64
		Landed    []Landed
	}
	climberMemory struct {
		Name     string
		Epoch    string
		Rung     int
		Since    time.Time
		Changed  time.Time
		Pinned   bool
		Learned  []Learned
		Trial    Trial
		Futile   time.Time
		Futiles  int
		Idle     bool
		Back     int
		LowSince time.Time
		Losses   uint64
		Down     bool
	}
	loadMemory struct {
		Links    []linkMemory
		Node     linkMemory
		Climbers []climberMemory
		Ledger   flap.Ledger
		Moved    time.Time
		Running  bool
		Shown    []Shown
	}
)

// MemoryOf returns the whole of a state, sharing nothing with it that a Buffer
// would reuse.
func MemoryOf(s State) Memory {
	m := Memory{
		WayBack4: wayBackMemory{holdMemory(s.WayBack4.Hold), s.WayBack4.LostSince},
		WayBack6: wayBackMemory{holdMemory(s.WayBack6.Hold), s.WayBack6.LostSince},
		Load: loadMemory{
			Node: linkMemory(s.Load.Node), Ledger: s.Load.Ledger, Moved: s.Load.Moved, Running: s.Load.Running,
			Shown: append([]Shown(nil), s.Load.Shown...),
		},
	}
	if s.Services != nil {
		m.Services = make(map[string]serviceMemory, len(s.Services))
	}
	for name, svc := range s.Services {
		m.Services[name] = serviceMemory{holdMemory(svc.Hard), holdMemory(svc.Soft), svc.Last, svc.Since}
	}
	for _, l := range s.Load.Links {
		m.Load.Links = append(m.Load.Links, linkMemory(l))
	}
	for _, c := range s.Load.Climbers {
		m.Load.Climbers = append(m.Load.Climbers, climberMemory(c))
	}
	return m
}

// State returns the state that the memory is of.
func (m Memory) State() State {
	s := State{
		WayBack4: WayBackState{Hold(m.WayBack4.Hold), m.WayBack4.LostSince},
		WayBack6: WayBackState{Hold(m.WayBack6.Hold), m.WayBack6.LostSince},
		Load: LoadState{
			Node: LinkState(m.Load.Node), Ledger: m.Load.Ledger, Moved: m.Load.Moved, Running: m.Load.Running, Shown: m.Load.Shown,
		},
	}
	if m.Services != nil {
		s.Services = make(map[string]ServiceState, len(m.Services))
	}
	for name, svc := range m.Services {
		s.Services[name] = ServiceState{Hold(svc.Hard), Hold(svc.Soft), svc.Last, svc.Since}
	}
	for _, l := range m.Load.Links {
		s.Load.Links = append(s.Load.Links, LinkState(l))
	}
	for _, c := range m.Load.Climbers {
		s.Load.Climbers = append(s.Load.Climbers, ClimberState(c))
	}
	return s
}
