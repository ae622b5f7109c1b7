package edge

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"time"

	"github.com/catchment-bgp/catchment/edge/config"
	"github.com/catchment-bgp/catchment/policy"
)

func (w *world) transcript() Transcript {
	w.t.Helper()
	content, err := w.node.Transcript(context.Background())
	if err != nil {
		w.t.Fatal(err)
	}
	t, err := ReadTranscript(content)
	if err != nil {
		w.t.Fatal(err)
	}
	return t
}

func TestATranscriptIsReplayedToTheSameDecisions(t *testing.T) {
	hot(t, func(t *testing.T, w *world) {
		w.report("origin", "502")
		w.pin("transit", 2, time.Minute)
		w.say(at("ix"), Word{Verb: policy.Drain})
		w.figures("uplink", 2e9, 2*time.Minute)
		w.reload(measured...)
		w.figures("uplink", 9.9e9, time.Minute)
		tr := w.transcript()
		if tr.Node != "msk1" || len(tr.Stretches) != 2 || len(tr.Stretches[0].Records) < 180 {
			t.Fatalf("node %s, %d stretches", tr.Node, len(tr.Stretches))
		}
		if err := tr.Replay(); err != nil {
			t.Error(err)
		}
		last := &tr.Stretches[1].Records[len(tr.Stretches[1].Records)-1]
		last.Decision.Climbers[0].Rung = 3
		if err := tr.Replay(); err == nil || !strings.Contains(err.Error(), "stretch 1") {
			t.Errorf("a decision that was changed: %v", err)
		}
	})
}

func TestATranscriptForgetsTheOldest(t *testing.T) {
	up(t, func(t *testing.T, w *world) {
		w.figures("uplink", 2e9, 40*time.Minute)
		tr := w.transcript()
		n := len(tr.Stretches[0].Records)
		if n > longestTape || n < longestTape*(cutsOfTape-1)/cutsOfTape {
			t.Errorf("%d decisions", n)
		}
		if err := tr.Replay(); err != nil {
			t.Error(err)
		}
	}, measured...)
}

func TestATapeOfALargeNodeIsShort(t *testing.T) {
	in := policy.Input{Overrides: make([]policy.Override, tapeCells)}
	var tp tape
	of := &config.Config{}
	for range 1000 {
		tp.add(of, policy.Config{}, policy.State{}, in)
	}
	total := 0
	for _, c := range tp.cuts {
		total += len(c.inputs)
	}
	if total > shortestTape || total < shortestTape/2 || total != tp.count {
		t.Errorf("%d decisions, counted %d", total, tp.count)
	}
}

func TestOnlyATranscriptIsRead(t *testing.T) {
	for text, want := range map[string]string{
		`{"version":2}`: "version 2; this program reads version 1", `{}`: "version 0", `[]`: "edge: transcript: ", "": "edge: transcript: ",
	} {
		if _, err := ReadTranscript([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

func TestTheSameIsTranscribedTheSame(t *testing.T) {
	hot(t, func(t *testing.T, w *world) {
		a, err := w.node.Transcript(context.Background())
		b, again := w.node.Transcript(context.Background())
		if err != nil || again != nil || !bytes.Equal(a, b) {
			t.Errorf("%v, %v", err, again)
		}
	})
}
