package edge

import (
	"cmp"
	"context"
	"errors"
	"net"
	"slices"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	centralv1 "github.com/catchment-bgp/catchment/api/central/v1"
	"google.golang.org/grpc/test/bufconn"
)

// centreFake is a centre that wants what the test says. It answers each report.
type centreFake struct {
	centralv1.UnimplementedEdgesServer
	listener *bufconn.Listener
	server   *grpc.Server

	mu      sync.Mutex
	dead    bool
	mute    bool // hears, and does not answer
	skew    time.Duration
	intent  *centralv1.Intent
	grants  bool              // gives leave for all that is asked for
	refuses string            // or says why not
	limit   string            // by which limit; empty: min_announcing
	given   map[string]string // state by id
	hellos  []*centralv1.Hello
	reports []*centralv1.Report
	details []*centralv1.Detail
	streams int
	poke    chan struct{}
}

func newCentreFake() *centreFake {
	f := &centreFake{intent: &centralv1.Intent{Generation: 1}, given: map[string]string{}, poke: make(chan struct{}, 1)}
	f.listen()
	return f
}

func (f *centreFake) listen(options ...grpc.ServerOption) {
	f.listener, f.server = bufconn.Listen(1<<16), grpc.NewServer(append(options,
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: 5 * time.Second}))...)
	centralv1.RegisterEdgesServer(f.server, f)
	go func(s *grpc.Server, l net.Listener) { _ = s.Serve(l) }(f.server, f.listener)
}

func (f *centreFake) dial(ctx context.Context, _ string) (net.Conn, error) {
	f.mu.Lock()
	dead, l := f.dead, f.listener
	f.mu.Unlock()
	if dead {
		return nil, errors.New("connection refused")
	}
	return l.DialContext(ctx)
}

// kill ends the centre as kill -9 would; revive starts it again.
func (f *centreFake) kill() {
	f.mu.Lock()
	was := f.dead
	f.dead = true
	f.mu.Unlock()
	if !was {
		f.server.Stop()
	}
}

func (f *centreFake) revive() {
	f.mu.Lock()
	f.dead = false
	f.mu.Unlock()
	f.listen()
}

func (f *centreFake) Connect(stream grpc.BidiStreamingServer[centralv1.EdgeMessage, centralv1.Intent]) error {
	heard := make(chan *centralv1.EdgeMessage)
	go func() {
		defer close(heard)
		for {
			m, err := stream.Recv()
			if err != nil {
				return
			}
			select {
			case heard <- m:
			case <-stream.Context().Done():
				return
			}
		}
	}()
	f.mu.Lock()
	f.streams++
	f.mu.Unlock()
	var last *centralv1.Report
	for {
		select {
		case m, ok := <-heard:
			if !ok {
				return nil
			}
			f.mu.Lock()
			if m.GetHello() != nil {
				f.hellos = append(f.hellos, m.GetHello())
			}
			if m.GetDetail() != nil {
				f.details = append(f.details, m.GetDetail())
			}
			if m.GetReport() != nil {
				last = m.GetReport()
				f.reports = append(f.reports, last)
			}
			f.mu.Unlock()
		case <-f.poke:
		case <-stream.Context().Done():
			return nil
		}
		if in := f.answer(last); in != nil {
			if err := stream.Send(in); err != nil {
				return err
			}
		}
	}
}

func (f *centreFake) answer(r *centralv1.Report) *centralv1.Intent {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.mute || r == nil {
		return nil
	}
	in := proto.CloneOf(f.intent)
	in.Sent, in.Report = timestamppb.New(time.Now().Add(f.skew)), r.GetNumber()
	for _, w := range r.GetWants() {
		if _, has := f.given[w.GetId()]; has {
			continue
		}
		if f.grants {
			f.given[w.GetId()] = "offered"
		} else if f.refuses != "" {
			in.Refusals = append(in.Refusals, &centralv1.Refusal{Id: w.GetId(), Limit: cmp.Or(f.limit, "min_announcing"), Reason: f.refuses, Holders: []string{"ams1"}})
		}
	}
	for id, state := range f.given {
		if slices.Contains(r.GetHeld(), id) && state == "offered" {
			f.given[id], state = "held", "held"
		}
		in.Grants = append(in.Grants, &centralv1.Grant{Id: id, State: state, Ttl: durationpb.New(time.Minute)})
	}
	return in
}

// wants changes the intent, and has it sent.
func (f *centreFake) wants(change func(in *centralv1.Intent)) {
	f.mu.Lock()
	f.intent = proto.CloneOf(f.intent)
	f.intent.Generation++
	change(f.intent)
	f.mu.Unlock()
	f.send()
}

func (f *centreFake) send() {
	select {
	case f.poke <- struct{}{}:
	default:
	}
}

func (f *centreFake) set(change func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change()
}

// all are the reports so far, said the hellos, and opened counts the streams.
func (f *centreFake) all() []*centralv1.Report {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.reports)
}

func (f *centreFake) inFull() []*centralv1.Detail {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.details)
}

func (f *centreFake) said() []*centralv1.Hello {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.hellos)
}

func (f *centreFake) opened() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.streams
}

// last is the newest report.
func (f *centreFake) last() *centralv1.Report {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.reports) == 0 {
		return &centralv1.Report{}
	}
	return f.reports[len(f.reports)-1]
}

// phase is what the newest report says of a window.
func (f *centreFake) phase(id string) string {
	for _, w := range f.last().GetWindows() {
		if w.GetId() == id {
			return w.GetPhase()
		}
	}
	return "none"
}

const centreLine = "central: {address: \"127.0.0.1:7179\", insecure: true}\n"

// governed is up with a centre.
func governed(t *testing.T, f func(t *testing.T, w *world, c *centreFake), edits ...string) {
	t.Helper()
	bubble(t, func(t *testing.T, w *world) {
		c := newCentreFake()
		defer c.kill()
		w.govern(c, edits...)
		w.well()
		w.pass(time.Second)
		f(t, w, c)
		w.leave()
		<-w.node.Gone()
	})
}

// govern starts the node with a centre.
func (w *world) govern(c *centreFake, edits ...string) {
	w.t.Helper()
	w.centre, w.clock = c.dial, func() bool { return true }
	w.start(append([]string{"leave_hold: 2s", centreLine + "leave_hold: 2s"}, edits...)...)
}
