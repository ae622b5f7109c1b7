package central

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"maps"
	"regexp"
	"slices"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	centralv1 "github.com/catchment-bgp/catchment/api/central/v1"
	"github.com/catchment-bgp/catchment/central/store"
)

var (
	errReplaced  = errors.New("the node has another stream, which is newer")
	errForgotten = errors.New("the node was forgotten since its hello; say it again on another stream")
	errCutOff    = errors.New("this centre cannot reach its store; try another")
	errLeaving   = errors.New("this centre is about to end; try another")
)

// session is one stream of an edge. Its fields but for wake and gone are guarded
// by Fleet.mu.
type session struct {
	node    string
	epoch   uint64
	reports uint64
	opened  time.Time
	wake    chan struct{}
	ended   chan struct{} // closed with why set
	why     error

	refusals map[string]*centralv1.Refusal
	waiting  map[string]time.Time // since when requests wait for a successor
	// What was sent last.
	generation uint64
	content    uint64
	sentAt     time.Time
	room       float64
	penalty    float64 // of all shares
	answered   uint64
	// told has what newer intents say of keeping, oldest first; the first is in force.
	told []telling
}

// maxTold bounds what is remembered of intents that have not been confirmed.
const maxTold = 64

// telling is which services an intent tells to keep, and when it was told first.
type telling struct {
	generation uint64
	at         time.Time
	keeps      map[string]uint64
}

// poke lets the stream look for something to send.
func (s *session) poke() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// end ends the stream; under the lock.
func (s *session) end(why error) {
	if s.why == nil {
		s.why = why
		close(s.ended)
	}
}

// nameRE is what a node, and an id that an edge chooses, may be called.
var nameRE = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._:-]{0,127}$`)

// badInput is a request that cannot be understood or names what is not there.
type badInput struct{ error }

func badf(format string, args ...any) error { return badInput{fmt.Errorf(format, args...)} }

// checkHello returns what is wrong with a hello.
func checkHello(h *centralv1.Hello) error {
	if !nameRE.MatchString(h.GetNode()) {
		return badf("node %q: a name is made of letters, digits, '.', '_', ':' and '-'", h.GetNode())
	}
	for _, s := range h.GetServices() {
		if !nameRE.MatchString(s.GetName()) {
			return badf("service %q: a name is made of letters, digits, '.', '_', ':' and '-'", s.GetName())
		}
	}
	return nil
}

// open begins a stream. The node exists from its first hello on.
func (f *Fleet) open(ctx context.Context, h *centralv1.Hello) (*session, error) {
	if err := checkHello(h); err != nil {
		return nil, err
	}
	s := &session{node: h.GetNode(), opened: time.Now(), wake: make(chan struct{}, 1), ended: make(chan struct{}),
		refusals: map[string]*centralv1.Refusal{}, waiting: map[string]time.Time{}}
	err := f.insist(ctx, func(w *world, now time.Time) (change, error) {
		s.epoch = w.sessions.get(s.node).Epoch + 1
		return w.opens(h, sessionDoc{Epoch: s.epoch, Replica: f.settings.Replica}, now)
	})
	if err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if old := f.sessions[s.node]; old != nil {
		old.end(errReplaced)
	}
	f.sessions[s.node] = s
	return s, nil
}

// What is on its way to the leader of a cluster when that dies is lost, and no answer
// comes. Another leader is there two seconds later: within insistEvery and insistTries.
const (
	insistEvery = 1200 * time.Millisecond
	insistTries = 3
)

// insist is decide for what may be done twice. A cluster that does not answer is asked
// again, so that an edge whose centre has died with the leader need not look for
// another one once more.
func (f *Fleet) insist(ctx context.Context, decision func(w *world, now time.Time) (change, error)) error {
	if !f.settings.Cluster {
		return f.decide(ctx, decision)
	}
	for try := 1; ; try++ {
		limited, cancel := context.WithTimeout(ctx, insistEvery)
		err := f.decide(limited, decision)
		late := limited.Err() != nil && ctx.Err() == nil
		cancel()
		switch {
		case err == nil || !late:
			return err
		case try == insistTries:
			return fmt.Errorf("%w: no answer within %s", store.ErrUnavailable, insistTries*insistEvery)
		}
	}
}

// opens is the change that begins a stream.
func (w *world) opens(h *centralv1.Hello, s sessionDoc, now time.Time) (change, error) {
	c := change{conds: []store.Cond{w.sessions.cond(kindSession, h.GetNode())}}
	op, err := put(key(kindSession, h.GetNode()), s)
	if err != nil {
		return c, err
	}
	c.ops = append(c.ops, op)
	doc, known := w.nodes[h.GetNode()]
	if known && proto.Equal(doc.doc.hello(), h) {
		return c, nil
	}
	n := doc.doc
	if !known {
		n.First, n.Standby = now, h.GetStandby()
	}
	n.Hello.m = h
	c.conds = append(c.conds, w.nodes.cond(kindNode, h.GetNode()))
	op, err = put(key(kindNode, h.GetNode()), n)
	c.ops = append(c.ops, op)
	return c, err
}

// hello takes in a hello that comes later on a stream.
func (f *Fleet) hello(ctx context.Context, s *session, h *centralv1.Hello) error {
	if err := checkHello(h); err != nil {
		return err
	}
	if h.GetNode() != s.node {
		return badf("the stream is that of node %s, and the hello that of %s", s.node, h.GetNode())
	}
	return f.decide(ctx, func(w *world, now time.Time) (change, error) {
		return w.opens(h, sessionDoc{Epoch: s.epoch, Replica: f.settings.Replica}, now)
	})
}

// shut ends a stream's part in the fleet: the node is not seen from now on.
func (f *Fleet) shut(s *session) {
	f.mu.Lock()
	if f.sessions[s.node] == s {
		delete(f.sessions, s.node)
		if l, ok := f.w.local[s.node]; ok && l.Epoch == s.epoch {
			l.Up = false
			f.w.local[s.node] = l
		}
	}
	f.mu.Unlock()
	f.toPublish(s.node)
	f.touch()
}

// closeAll ends all streams.
func (f *Fleet) closeAll() { f.endAll(errLeaving) }

func (f *Fleet) endAll(why error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, s := range f.sessions {
		s.end(why)
	}
}

// report takes in what an edge says of itself.
func (f *Fleet) report(ctx context.Context, s *session, r *centralv1.Report) error {
	now := time.Now()
	r.NotUnderstood = notUnderstood(r.GetNotUnderstood())
	f.mu.Lock()
	if f.sessions[s.node] != s {
		f.mu.Unlock()
		return errReplaced
	}
	if _, known := f.w.nodes[s.node]; !known {
		f.mu.Unlock()
		return errForgotten
	}
	s.reports++
	before, _ := f.w.heardOf(s.node)
	l := liveDoc{Epoch: s.epoch, Replica: f.settings.Replica, Number: s.epoch<<32 | s.reports, At: now, Up: true,
		Moved: movedAt(r, before, now), Keeps: s.inForce(r.GetGeneration()), Wanted: s.generation}
	l.Report.m = r
	if c := moment(r.GetClock()); !c.IsZero() {
		l.Skew = c.Sub(now)
	}
	f.w.local[s.node] = l
	stored := f.w.live.get(s.node)
	wanted := func(id string) bool {
		return slices.ContainsFunc(r.GetWants(), func(g *centralv1.GrantRequest) bool { return g.GetId() == id })
	}
	maps.DeleteFunc(s.refusals, func(id string, _ *centralv1.Refusal) bool { return !wanted(id) })
	maps.DeleteFunc(s.waiting, func(id string, _ time.Time) bool { return !wanted(id) })
	f.mu.Unlock()
	f.meters.reports.Inc()
	if now.Sub(stored.At) > lastSeenEvery || material(stored, l) {
		f.toPublish(s.node)
	}
	f.touch()
	err := f.settle(ctx, s, l)
	s.poke()
	return err
}

// movedAt is when the node last moved, by our clock: the edge says how long ago
// that was by its own.
func movedAt(r *centralv1.Report, before liveDoc, now time.Time) time.Time {
	moved, clock := moment(r.GetMoved()), moment(r.GetClock())
	switch {
	case moved.IsZero():
		return time.Time{}
	case moment(before.report().GetMoved()).Equal(moved) && !before.Moved.IsZero():
		return before.Moved
	case clock.IsZero() || moved.After(clock):
		return now
	}
	return now.Add(-clock.Sub(moved))
}

// inForce returns what the intent of a generation says of keeping, and forgets
// what older ones did.
func (s *session) inForce(generation uint64) map[string]uint64 {
	for len(s.told) > 1 && s.told[1].generation <= generation {
		s.told = s.told[1:]
	}
	if len(s.told) == 0 || s.told[0].generation > generation {
		return nil
	}
	return s.told[0].keeps
}

// behindAfter is how long an intent may be on its way: where much changes, some intent is on its way at any moment.
const behindAfter = 10 * time.Second

// behind reports whether the edge has long been told something that is not in force there, as far as its last report on this
// stream says, or does not understand all that is.
func (s *session) behind(l liveDoc, now time.Time) bool {
	reported := l.Epoch == s.epoch
	if reported && len(l.report().GetNotUnderstood()) > 0 {
		return true
	}
	for _, t := range s.told { // oldest first
		if !reported || t.generation > l.report().GetGeneration() {
			return now.Sub(t.at) > behindAfter
		}
	}
	return false
}

// tell returns the intent to send now, if any, and the next moment at which there
// may be another without a poke.
func (f *Fleet) tell(s *session) (*centralv1.Intent, time.Time) {
	now := time.Now()
	v := f.view.Load()
	f.mu.Lock()
	defer f.mu.Unlock()
	live, heard := f.w.heardOf(s.node)
	if !heard || live.Epoch != s.epoch {
		live = liveDoc{}
		if now.Sub(s.opened) < time.Second {
			return nil, s.opened.Add(time.Second) // its first report has the generation in force
		}
	}
	in, next := f.w.intent(s.node, v, now)
	for _, id := range slices.Sorted(maps.Keys(s.refusals)) {
		in.Refusals = append(in.Refusals, s.refusals[id])
	}
	in.Keep = withoutWithdrawn(in.Keep, live.report())
	keeps := map[string]uint64{}
	for _, service := range in.Keep {
		keeps[service] = f.w.keep.get(service).since(s.node)
	}
	content := digest(in, keeps)
	again := s.sentAt.Add(resendEvery)
	newer := live.Number > s.answered
	leased := len(in.Grants) > 0 && newer
	roomier := in.Room != nil && differs(s.room, in.GetRoom())
	if roomier && !newer { // less room is told at once, more with the answer to a report
		roomier = in.GetRoom() < s.room && !now.Before(s.sentAt.Add(roomPause))
		if in.GetRoom() < s.room && !roomier {
			next = earlier(next, s.sentAt.Add(roomPause))
		}
	}
	dearer := penalties(in) > s.penalty+dear
	if s.generation != 0 && content == s.content && !leased && !roomier && !dearer && now.Before(again) {
		return nil, earlier(next, again)
	}
	if s.generation == 0 || content != s.content {
		s.generation = max(s.generation, live.report().GetGeneration(), uint64(f.w.revision)) + 1
		s.told = append(s.told, telling{s.generation, now, keeps})
		if len(s.told) > maxTold { // an edge that confirms nothing keeps nothing
			s.told = s.told[1:]
		}
		if heard {
			live.Wanted = s.generation // for who asks whether it is behind
			f.w.local[s.node] = live
		}
	}
	s.content, s.sentAt, s.room, s.penalty, s.answered = content, now, in.GetRoom(), penalties(in), live.Number
	in.Generation, in.Sent, in.Report = s.generation, timestamppb.New(now), live.report().GetNumber()
	return in, earlier(next, now.Add(resendEvery))
}

// dear is how much more others must have been charged for an edge to hear of it at
// once: less than any change.
const dear = 100

// penalties is what others were charged at all ASes that an edge shares.
func penalties(in *centralv1.Intent) (sum float64) {
	for _, s := range in.GetShares() {
		sum += s.GetPenalty()
	}
	return sum
}

// digest tells intents apart that want different things. It leaves the intent as it
// was.
func digest(in *centralv1.Intent, keeps map[string]uint64) uint64 {
	defer lasting(in)()
	h := fnv.New64a()
	text, err := proto.MarshalOptions{Deterministic: true}.Marshal(in)
	if err != nil {
		text = []byte(err.Error()) // of text that is no UTF-8: sending fails, too
	}
	_, _ = h.Write(text) // never fails
	for _, service := range slices.Sorted(maps.Keys(keeps)) {
		_, _ = h.Write(binary.BigEndian.AppendUint64([]byte(service), keeps[service]))
	}
	return h.Sum64()
}

// roomPause is the least time between two intents that only say that there is less
// room.
const roomPause = time.Second

// differs reports whether two figures are more than a tenth apart.
func differs(a, b float64) bool { return max(a, b)-min(a, b) > 0.1*max(a, b) }

// earlier is the earlier of two moments; the zero one is never.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}
