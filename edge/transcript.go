package edge

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/catchment-bgp/catchment/edge/config"
	"github.com/catchment-bgp/catchment/policy"
)

// Transcript is what the policy was given lately, and what it decided.
type Transcript struct {
	Version int    `json:"version"`
	Node    string `json:"node"`
	// Stretches follow each other; a new configuration begins a new one.
	Stretches []Stretch `json:"stretches"`
}

// Stretch is decisions under one configuration, oldest first. policy.Replay makes
// them again.
type Stretch struct {
	Config  policy.Config   `json:"config"`
	Records []policy.Record `json:"records"`
}

// ReadTranscript reads the content of a transcript.
func ReadTranscript(content []byte) (Transcript, error) {
	var t Transcript
	if err := json.Unmarshal(content, &t); err != nil {
		return t, fmt.Errorf("edge: transcript: %w", err)
	}
	if t.Version != transcriptVersion {
		return t, fmt.Errorf("edge: transcript: version %d; this program reads version %d", t.Version, transcriptVersion)
	}
	return t, nil
}

// Replay makes all decisions again, and says how the first one that comes out
// otherwise differs.
func (t Transcript) Replay() error {
	for i, s := range t.Stretches {
		if err := policy.Replay(s.Config, s.Records); err != nil {
			return fmt.Errorf("edge: stretch %d: %w", i, err)
		}
	}
	return nil
}

const transcriptVersion = 1

// tape keeps the last decisions as they were made: nothing is copied, since
// nothing of them changes any more.
type tape struct {
	cuts  []cut // oldest first
	count int   // of decisions in all cuts
}

// cut is decisions in a row, with the state before the first.
type cut struct {
	of      *config.Config
	config  policy.Config
	before  policy.State
	records []taped
}

type taped struct {
	in policy.Input
	d  policy.Decision
}

const (
	// tapeCells bounds what is kept, in words on one service at one neighbour.
	tapeCells = 50_000
	// A tape has this many decisions at most, and at least.
	longestTape, shortestTape = 900, 20
	// cutsOfTape is in how many parts it is forgotten.
	cutsOfTape = 6
)

// add keeps a decision.
func (t *tape) add(of *config.Config, c policy.Config, before policy.State, in policy.Input, d policy.Decision) {
	cells := len(d.Climbers) + 1
	for i := range d.Services {
		cells += len(d.Services[i].Neighbors)
	}
	most := min(max(tapeCells/cells, shortestTape), longestTape)
	last := len(t.cuts) - 1
	if last < 0 || t.cuts[last].of != of || len(t.cuts[last].records) >= most/cutsOfTape {
		t.cuts = append(t.cuts, cut{of: of, config: c, before: before})
		last++
	}
	t.cuts[last].records = append(t.cuts[last].records, taped{in, d})
	for t.count++; t.count > most && len(t.cuts) > 1; {
		t.count -= len(t.cuts[0].records)
		t.cuts[0] = cut{}
		t.cuts = t.cuts[1:]
	}
}

// stretches puts the cuts of one configuration together again.
func (t *tape) stretches() []Stretch {
	out := []Stretch{}
	var of *config.Config
	for _, c := range t.cuts {
		digest := policy.Digest(c.config)
		if c.of != of {
			of = c.of
			out = append(out, Stretch{Config: c.config})
		}
		s := &out[len(out)-1]
		for i, r := range c.records {
			rec := policy.Record{Config: digest, Input: r.in, Decision: r.d}
			if i == 0 && len(s.Records) == 0 {
				m := policy.MemoryOf(c.before)
				rec.Memory = &m
			}
			s.Records = append(s.Records, rec)
		}
	}
	return out
}

// Transcript returns what the policy was given lately, as ReadTranscript reads it.
func (e *Edge) Transcript(ctx context.Context) ([]byte, error) {
	var t tape
	out := Transcript{Version: transcriptVersion}
	err := e.read(ctx, func(time.Time) {
		out.Node, t = e.cfg.Node, tape{cuts: append([]cut(nil), e.tape.cuts...)}
	})
	if err != nil {
		return nil, err
	}
	out.Stretches = t.stretches()
	content, err := json.MarshalIndent(out, "", " ")
	if err != nil {
		return nil, fmt.Errorf("edge: transcript: %w", err)
	}
	return append(content, '\n'), nil
}
