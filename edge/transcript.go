package edge

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
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

// tape keeps what the policy was given for its last decisions. The decisions are
// not kept: they follow from it. Nothing is copied, since nothing of it changes any
// more.
type tape struct {
	cuts  []cut // oldest first
	count int   // of decisions in all cuts
}

// cut is decisions in a row, with the state before the first.
type cut struct {
	of     *config.Config
	config policy.Config
	before policy.State
	inputs []policy.Input
}

const (
	// tapeCells bounds what is kept, in services, links and neighbours.
	tapeCells = 100_000
	// A tape has this many decisions at most, and at least.
	longestTape, shortestTape = 900, 20
	// cutsOfTape is in how many parts it is forgotten.
	cutsOfTape = 6
)

// add keeps what a decision was made from.
func (t *tape) add(of *config.Config, c policy.Config, before policy.State, in policy.Input) {
	cells := 1 + len(in.Health) + len(in.Samples) + len(in.Sessions) + len(in.Overrides)
	most := min(max(tapeCells/cells, shortestTape), longestTape)
	last := len(t.cuts) - 1
	if last < 0 || t.cuts[last].of != of || len(t.cuts[last].inputs) >= most/cutsOfTape {
		t.cuts = append(t.cuts, cut{of: of, config: c, before: before})
		last++
	}
	t.cuts[last].inputs = append(t.cuts[last].inputs, in)
	for t.count++; t.count > most && len(t.cuts) > 1; {
		t.count -= len(t.cuts[0].inputs)
		t.cuts[0] = cut{}
		t.cuts = t.cuts[1:]
	}
}

// stretches makes the decisions again, from what a reader of the transcript will
// have, and puts the cuts of one configuration together. Times lose what they know
// of the monotonic clock: where the clock was set meanwhile, waits come out as by
// the wall.
func (t *tape) stretches() ([]Stretch, error) {
	out := []Stretch{}
	var of *config.Config
	for _, c := range t.cuts {
		digest := policy.Digest(c.config)
		if c.of != of {
			of = c.of
			out = append(out, Stretch{Config: c.config})
		}
		s := &out[len(out)-1]
		memory, err := written(policy.MemoryOf(c.before))
		if err != nil {
			return nil, err
		}
		state := memory.State()
		for i, live := range c.inputs {
			in, err := written(live)
			if err != nil {
				return nil, err
			}
			rec := policy.Record{Config: digest, Input: in}
			if i == 0 {
				rec.Memory = &memory
			}
			state, rec.Decision = policy.Next(c.config, state, in)
			s.Records = append(s.Records, rec)
		}
	}
	return out, nil
}

// written is a value as it is read from where it was written to.
func written[T any](v T) (out T, err error) {
	text, err := json.Marshal(v)
	if err == nil {
		err = json.Unmarshal(text, &out)
	}
	if err != nil {
		err = fmt.Errorf("edge: transcript: %w", err)
	}
	return out, err
}

// Transcript returns what the policy was given lately, as ReadTranscript reads it.
func (e *Edge) Transcript(ctx context.Context) ([]byte, error) {
	var t tape
	out := Transcript{Version: transcriptVersion}
	err := e.read(ctx, func(time.Time) {
		out.Node, t.cuts = e.cfg.Node, slices.Clone(e.tape.cuts)
	})
	if err != nil {
		return nil, err
	}
	if out.Stretches, err = t.stretches(); err != nil {
		return nil, err
	}
	content, err := json.MarshalIndent(out, "", " ")
	if err != nil {
		return nil, fmt.Errorf("edge: transcript: %w", err)
	}
	return append(content, '\n'), nil
}
