package edge

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"time"

	"google.golang.org/protobuf/encoding/protojson"

	centralv1 "github.com/catchment-bgp/catchment/api/central/v1"
	"github.com/catchment-bgp/catchment/community"
	"github.com/catchment-bgp/catchment/edge/config"
	"github.com/catchment-bgp/catchment/policy"
	"github.com/catchment-bgp/catchment/policy/flap"
	"github.com/catchment-bgp/catchment/policy/fleet"
)

// byCentre is the trigger of decisions that the centre brought about.
const byCentre = "centre"

// storedCentre is what survives a restart of what the centre wants.
type storedCentre struct {
	// Numbers is below which reports and requests have been numbered.
	Numbers uint64          `json:"numbers"`
	Intent  json.RawMessage `json:"intent,omitempty"`
	// Skew is how far the clock was ahead of the centre's at its last stamp.
	Skew   time.Duration       `json:"skew,omitempty"`
	Tracks map[targetKey]track `json:"tracks,omitempty"`
	Opened map[string]opened   `json:"opened,omitempty"`
	Leases map[string]lease    `json:"leases,omitempty"`
	// OutSince is since when the centre has the whole node out; zero: it has not.
	OutSince time.Time `json:"out_since,omitzero"`
}

// How many numbers one run, and one link of it, may use up.
const (
	numbersOfARun  = 1 << 32
	numbersOfALink = 1 << 24
)

// centreKeeper holds what the centre wants, and what came of it. It belongs to the loop.
type centreKeeper struct {
	link *centreLink // nil: no centre is configured
	to   config.Central
	of   *config.Config // what the hello was made of
	news chan centreNews

	kept   storedCentre
	want   intent
	number uint64 // the next for a request

	up      bool      // the stream is there
	heard   time.Time // when an intent came on it; zero: none did
	address string
	faults  map[string]string // by address: of the last try there, until one answers
	// backed is when this node sent the newest report that the centre had when it said
	// what it says: as long as leases go by it, keeping does.
	backed time.Time
	// told has what the other nodes of each shared budget were charged, by ASN. It is
	// never changed in place.
	told  map[uint32]flap.Told
	clock wallClock
	stale uint64   // intents that were ignored as older
	bad   []string // what could not be understood of the last, without windows

	// first is how long to wait for the centre's first word: see silent.
	first firstWord

	windows   windowKeeper
	refused   bool // a window did not open for the clock
	orders    policy.Orders
	dead      map[string]bool // services that are kept announced although they failed
	words     []policy.Override
	askedLoad map[string]time.Time // when a neighbour last lacked leave to climb

	said  *centralv1.Report // the last report, when that was, and its gist
	saidA time.Time
	gist  *centralv1.Report

	detail detailKeeper
}

func newCentreKeeper() centreKeeper {
	return centreKeeper{news: make(chan centreNews), faults: map[string]string{}, askedLoad: map[string]time.Time{}}
}

// restore goes on from what is on disk.
func (k *centreKeeper) restore(s *storedCentre, c *config.Config, now time.Time) error {
	if s != nil {
		k.kept = *s
	}
	k.number = k.kept.Numbers + 1
	k.kept.Numbers += numbersOfARun
	k.clock.skew = k.kept.Skew
	for key, l := range k.kept.Leases {
		if l.Begun && (l.Kind == fleet.Window || l.Kind == fleet.Override) {
			continue
		}
		delete(k.kept.Leases, key) // whoever asked for it asks anew
	}
	if len(k.kept.Intent) == 0 {
		k.first = firstWord{until: now.Add(firstIntentTime), standby: c.Central.Standby}
		return nil
	}
	in := &centralv1.Intent{}
	if err := (protojson.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(k.kept.Intent, in); err != nil {
		return fmt.Errorf("edge: what the centre wanted last cannot be read: %w", err)
	}
	k.want, k.bad = readIntent(in, c, now)
	k.told = toldBefore(k.want.shares, now)
	return nil
}

// stored is what is to be kept; nil: there is no centre.
func (k *centreKeeper) stored() *storedCentre {
	if k.link == nil {
		return nil
	}
	s := k.kept
	return &s
}

// state is how the status calls it.
func (k *centreKeeper) state() string {
	switch {
	case k.link == nil:
		return "none"
	case k.up && !k.heard.IsZero():
		return "connected"
	}
	return "away"
}

// connected says whether the centre answers.
func (k *centreKeeper) connected() bool { return k.state() == "connected" }

// joinCentre makes the link be that of the configuration, and says hello again where
// that has changed.
func (e *Edge) joinCentre(now time.Time) {
	k := &e.centre
	if e.cfg.Central == nil {
		e.leaveCentre()
		return
	}
	if k.link != nil && !reflect.DeepEqual(k.to, *e.cfg.Central) {
		e.leaveCentre()
	}
	if k.link == nil {
		if k.kept.Numbers == 0 {
			if err := k.restore(nil, e.cfg, now); err != nil {
				e.log.Error("centre", "error", err)
			}
			k.first = firstWord{} // what is announced stays
		}
		k.to = *e.cfg.Central
		if k.to.Insecure {
			e.log.Warn("the centre is spoken to in plain text", "addresses", k.to.Addresses)
		}
		k.link = &centreLink{} // so that it is kept
		k.news, k.said, k.detail = make(chan centreNews), nil, detailKeeper{}
		written := e.store.saved(e.stored())
		k.link = startLink(e.work, k.to, e.cfg.Node, k.number, written, e.opt.DialCentre, k.news)
		k.number += numbersOfALink
		k.of = nil
	}
	if k.of != e.cfg {
		k.of = e.cfg
		k.link.say(e.hello(), nil)
		k.windows.forget()
	}
}

// leaveCentre ends the stream, and forgets what the centre wants: without a centre
// nobody would ever take it back.
func (e *Edge) leaveCentre() {
	k := &e.centre
	if k.link == nil {
		return
	}
	k.link.stop()
	go func(l *centreLink) { <-l.ended }(k.link)
	numbers := k.kept.Numbers
	if e.cfg.Central != nil { // another one: what is wanted stands until it says otherwise
		k.link, k.up, k.heard = nil, false, time.Time{}
		return
	}
	tagged := len(k.want.tags) > 0
	*k = newCentreKeeper()
	k.number = numbers
	if tagged {
		e.retold(time.Now())
	}
}

// hear takes in what came of the centre, and says what that triggers.
func (e *Edge) hear(n centreNews) string {
	k := &e.centre
	if k.link == nil {
		return ""
	}
	was := k.state()
	k.up, k.address = n.up, n.address
	if !n.up || n.intent == nil {
		k.heard = time.Time{}
	}
	if !n.up && n.fault != k.faults[n.address] {
		e.log.Warn("no stream to the centre; the node goes on as it is", "address", n.address, "error", n.fault)
		k.faults[n.address] = n.fault
	}
	trigger := ""
	if n.intent != nil {
		trigger = e.obey(n)
	}
	if is := k.state(); is != was {
		if is == "connected" {
			clear(k.faults)
		}
		e.log.Info("centre "+is, "address", n.address)
		return byCentre
	}
	return trigger
}

// obey takes an intent in. One of an older generation than the one in force is
// ignored, as it may have been on its way for long - unless the centre wrote it after
// it had read, on this very stream, which generation is in force here: then it means
// it, since its history was replaced (by a backup, say).
func (e *Edge) obey(n centreNews) string {
	k := &e.centre
	k.heard = n.at
	if n.intent.GetGeneration() < k.want.generation && !n.answered {
		k.stale++
		e.log.Warn("the centre's intent is older than the one in force: ignored", "generation", n.intent.GetGeneration(), "in_force", k.want.generation)
		return ""
	}
	sent := moment(n.intent.GetSent())
	k.clock.stamped(n.at, sent, e.opt.Ahead)
	if k.clock.skew.Abs() > mostSkew || k.kept.Skew != 0 {
		k.kept.Skew = k.clock.skew
	}
	if !n.sent.IsZero() {
		k.backed = n.sent
		k.told = toldNow(k.told, n.intent.GetShares(), n.sent)
	}
	want, bad := readIntent(n.intent, e.cfg, n.at)
	if len(bad) > 0 && !slices.Equal(bad, k.bad) {
		e.log.Error("the centre's intent is not understood as a whole", "problems", bad)
	}
	k.bad = bad
	was := k.want
	k.want, k.first = want, firstWord{}
	e.answers(n.intent, n.sent)
	if !slices.Equal(was.tags, want.tags) {
		e.log.Info("tags", "now", want.tags.Strings(), "before", was.tags.Strings())
		e.retold(n.at)
	}
	if !reflect.DeepEqual(was.shares, want.shares) {
		e.refresh()
	}
	text, err := lastingIntent(n.intent)
	if err != nil {
		e.log.Error("the centre's intent cannot be kept", "error", err)
		return byCentre
	}
	if slices.Equal(text, k.kept.Intent) {
		return byRenewal
	}
	k.kept.Intent = text
	k.windows.forget()
	return byCentre
}

// refresh has all that was worked out from the configuration worked out anew.
func (e *Edge) refresh() {
	c := *e.cfg
	if e.centre.of == e.cfg {
		e.centre.of = &c
	}
	e.cfg = &c
}

// retold charges that all routes look different from now on, and has them rendered.
func (e *Edge) retold(now time.Time) {
	e.state = e.state.Retold(e.policyConfig(), e.decision, now)
	e.refresh()
}

// tags are what the centre adds to every route.
func (e *Edge) tags() community.Set { return e.centre.want.tags }

// shared gives a configuration of the policy the centre's parts of the flap budgets.
func (e *Edge) shared(pc policy.Config) policy.Config {
	for i := range pc.Load.Climbers {
		if s, ok := e.centre.want.shares[pc.Load.Climbers[i].ASN]; ok {
			pc.Load.Climbers[i].Share = s
		}
	}
	return pc
}

// steer works out what the centre's wishes come to now: orders and operators' words.
// It is called once before each decision.
func (e *Edge) steer(now time.Time) {
	k := &e.centre
	if k.link == nil {
		return
	}
	k.clock.look(now, e.opt.Clock)
	e.dropLeases(now)
	k.orders = policy.Orders{Frozen: k.want.frozen, Turns: k.want.turns}
	e.maintain(now)
	e.keepAnnounced(now)
	k.words = append(e.wholeNode(now), e.fleetWords(now)...)
	e.askForSoft(now)
	e.askForLoad(now)
}

// keepAnnounced has the services kept announced in a hard failure that the centre
// says are to be: as long as it goes on to say so. One that has failed by then stays
// so when the centre falls silent, until it has recovered or the centre says
// otherwise: the last that announce it must not all go with the centre. A failure that
// comes later withdraws.
func (e *Edge) keepAnnounced(now time.Time) {
	k := &e.centre
	fresh := !k.backed.IsZero() && now.Before(k.backed.Add(fleet.TTL-fleet.Margin))
	dead := map[string]bool{}
	for _, name := range k.want.keep {
		if e.vips.fault(name) != "" || !fresh && !k.dead[name] {
			continue
		}
		k.orders.Keep = append(k.orders.Keep, name)
		if st, known := e.state.Services[name]; known && st.Hard.Held {
			dead[name] = true
		}
	}
	k.dead = dead
}

// fleetInput adds what the centre says to what is the case.
func (e *Edge) fleetInput(in *policy.Input) {
	k := &e.centre
	if k.link == nil {
		return
	}
	in.Orders = k.orders
	in.Told = k.told
	in.OthersMoved, in.Room, in.RoomAt = k.want.othersMoved, k.want.room, k.want.roomAt
	if len(k.words) > 0 {
		in.Overrides = append(slices.Clip(in.Overrides), k.words...)
	}
	if k.want.frozen {
		in.Pins = append(slices.Clip(in.Pins), e.frozenPins(in.Now)...)
	}
}

// frozenPins hold every neighbour where it is, unless an operator pinned it.
func (e *Edge) frozenPins(now time.Time) []policy.Pin {
	var out []policy.Pin
	for i := range e.state.Load.Climbers {
		st := &e.state.Load.Climbers[i]
		pinned := slices.ContainsFunc(e.pins, func(p policy.Pin) bool { return p.Neighbor == st.Name && p.Active(now) })
		if !pinned {
			out = append(out, policy.Pin{Neighbor: st.Name, Rung: st.Rung, Reason: "the fleet is frozen", By: byCentre})
		}
	}
	return out
}

// wholeNode is what follows where the centre has the node out as a whole: drained,
// then withdrawn.
func (e *Edge) wholeNode(now time.Time) []policy.Override {
	k := &e.centre
	reason := "standby: announces only when nothing else absorbs"
	switch silent := k.first.silent(now); {
	case silent != "":
		return e.withdrawn(now, silent)
	case k.want.disabled:
		reason = "the node is disabled at the centre"
	case !k.want.reserve:
		k.kept.OutSince = time.Time{}
		return nil
	}
	if k.kept.OutSince.IsZero() || now.Before(k.kept.OutSince) {
		k.kept.OutSince = now
	}
	var out []policy.Override
	for i := range e.cfg.Services {
		svc := &e.cfg.Services[i]
		o := policy.Override{Service: svc.Name, Verb: policy.Drain, Reason: reason, By: byCentre, Since: k.kept.OutSince, WithdrawAt: k.kept.OutSince.Add(svc.Drain)}
		if before(e.decision, svc.Name).Severity == policy.Withdrawn || len(e.decision.Services) == 0 {
			o.WithdrawAt = minTime(now, o.WithdrawAt)
		}
		out = append(out, o)
	}
	return out
}

// partCentre ends the stream for good, and waits until all of it has ended.
func (e *Edge) partCentre() {
	if k := &e.centre; k.link != nil {
		k.link.close()
	}
}
