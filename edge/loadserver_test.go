package edge

import (
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	edgev1 "github.com/catchment-bgp/catchment/api/edge/v1"
)

func TestPinsAndTranscriptsComeOverTheSocket(t *testing.T) {
	w, client := served(t)
	answer, err := client.SetPin(soon(t), &edgev1.SetPinRequest{Neighbor: "transit", Rung: 1, Reason: "loss", Duration: durationpb.New(time.Hour)})
	if err != nil || !answer.GetChanged() || len(answer.GetPins()) != 1 {
		t.Fatalf("%v, %v", answer, err)
	}
	if p := answer.GetPins()[0]; p.GetBy() == "" || p.GetUntil().AsTime().Sub(p.GetSince().AsTime()) != time.Hour || p.GetReason() != "loss" {
		t.Errorf("%v", p)
	}
	eventually(t, "the rung", func() bool { return w.told("transit")[0] == rung1v4 })
	st, err := client.Status(soon(t), &edgev1.StatusRequest{})
	if err != nil {
		t.Fatal(err)
	}
	if n := st.GetServices()[0].GetNeighbors()[0]; n.GetRung() != 1 || n.GetRungs() != 3 || n.GetRungReason() == "" || n.GetShed() == 0 || len(st.GetPins()) != 1 {
		t.Errorf("%v", st)
	}
	script, err := client.Transcript(soon(t), &edgev1.TranscriptRequest{})
	if err != nil {
		t.Fatal(err)
	}
	if tr, err := ReadTranscript(script.GetContent()); err != nil || tr.Replay() != nil {
		t.Errorf("%v, %v", err, tr.Replay())
	}
	if answer, err = client.ClearPin(soon(t), &edgev1.ClearPinRequest{Neighbor: "transit", Reason: "gone"}); err != nil || !answer.GetChanged() || len(answer.GetPins()) != 0 {
		t.Errorf("%v, %v", answer, err)
	}
	why, err := client.Why(soon(t), &edgev1.WhyRequest{})
	if err != nil || len(why.GetLoad()) == 0 || why.GetLoad()[len(why.GetLoad())-1].GetTo() != 1 {
		t.Errorf("%v, %v", why.GetLoad(), err)
	}
}

func TestAFigureThatMovesLittleIsNoNewsForAWatch(t *testing.T) {
	status := func(used, age float64, stale bool) *edgev1.StatusResponse {
		l := &edgev1.Link{Name: "a", Utilization: &used, AgeSeconds: &age, Stale: stale, LoadBps: used * 1e9, CapacityBps: 1e9, Shed: used / 2}
		return &edgev1.StatusResponse{Links: []*edgev1.Link{l}, Services: []*edgev1.Service{{Neighbors: []*edgev1.Neighbor{{Link: proto.CloneOf(l), FlapPenalty: age}}}}}
	}
	was := status(0.5, 1, false)
	for _, tt := range []struct {
		name string
		now  *edgev1.StatusResponse
		want bool
	}{
		{"the same, older", status(0.5, 2, false), false}, {"a little more", status(0.519, 1, false), false},
		{"more", status(0.52, 1, false), true}, {"less", status(0.48, 1, false), true}, {"stale", status(0.5, 1, true), true},
		{"another target", func() *edgev1.StatusResponse { s := status(0.5, 1, false); s.Links[0].Target = 0.7; return s }(), true},
		{"another link", &edgev1.StatusResponse{Links: append(status(0.5, 1, false).Links, &edgev1.Link{Name: "b"})}, true},
	} {
		if got := isNews(was, tt.now); got != tt.want {
			t.Errorf("%s: news is %v", tt.name, got)
		}
	}
	if !isNews(nil, was) {
		t.Error("the first status is no news")
	}
}
