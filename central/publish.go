package central

import (
	"context"
	"crypto/rand"
	"encoding/base32"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	centralv1 "github.com/catchment-bgp/catchment/api/central/v1"
	"github.com/catchment-bgp/catchment/central/store"
)

const (
	// publishEvery bounds how often what is heard goes to the store, and
	// publishMost how much of it at once.
	publishEvery = 200 * time.Millisecond
	publishMost  = store.MaxOps / 2
	// cutOffAfter is how long the store may be out of reach before the edges are
	// sent to another centre.
	cutOffAfter = 2 * replicaSilence / 3
)

// toPublish says that other centres should hear of a node.
func (f *Fleet) toPublish(node string) {
	f.publish.Lock()
	f.publish.nodes[node] = true
	f.publish.Unlock()
	select {
	case f.publish.wake <- struct{}{}:
	default:
	}
}

// publishes writes what this process has heard, as long as that is news.
func (f *Fleet) publishes(ctx context.Context) {
	for {
		select {
		case <-f.publish.wake:
		case <-ctx.Done():
			return
		}
		for f.publishSome(ctx) {
			if ctx.Err() != nil {
				return
			}
		}
		if !pause(ctx, publishEvery) {
			return
		}
	}
}

// publishSome writes a part, and reports whether there is more.
func (f *Fleet) publishSome(ctx context.Context) bool {
	f.publish.Lock()
	var nodes []string
	for n := range f.publish.nodes {
		if len(nodes) == publishMost {
			break
		}
		nodes = append(nodes, n)
		delete(f.publish.nodes, n)
	}
	more := len(f.publish.nodes) > 0
	f.publish.Unlock()
	slices.Sort(nodes)
	err := f.tellOthers(ctx, nodes)
	if errors.Is(err, store.ErrConflict) { // one of them has gone elsewhere
		for _, n := range nodes {
			if err := f.tellOthers(ctx, []string{n}); err != nil && !errors.Is(err, store.ErrConflict) {
				f.toPublish(n)
			}
		}
		return more
	}
	if err != nil && ctx.Err() == nil {
		f.log.Warn("what was heard of nodes cannot be written", "nodes", len(nodes), "error", err)
		for _, n := range nodes {
			f.toPublish(n)
		}
		return false
	}
	return more
}

// tellOthers writes what was heard of some nodes, if their streams are still here.
func (f *Fleet) tellOthers(ctx context.Context, nodes []string) error {
	var c change
	f.mu.RLock()
	for _, n := range nodes {
		l, ok := f.w.local[n]
		if !ok || f.w.sessions.get(n).Epoch != l.Epoch {
			continue
		}
		op, err := put(key(kindLive, n), l)
		if err != nil {
			f.log.Error("a report cannot be written", "node", n, "error", err)
			continue
		}
		c.ops, c.conds = append(c.ops, op), append(c.conds, f.w.sessions.cond(kindSession, n))
	}
	f.mu.RUnlock()
	if len(c.ops) == 0 {
		return nil
	}
	return f.commit(ctx, c)
}

// material reports whether something has changed, since what the store has, that
// another centre decides by. Which intent is in force is none of it: what that says of
// keeping is.
func material(stored, l liveDoc) bool {
	return stored.Epoch != l.Epoch || stored.Up != l.Up || !stored.Moved.Equal(l.Moved) || !maps.Equal(stored.Keeps, l.Keeps) ||
		gist(stored) != gist(l) || drifted(stored.report(), l.report())
}

const (
	// loadStep is by how much of its capacity a link's load must have changed to be
	// worth a write, and penaltyStep by how much a flap penalty.
	loadStep    = 0.05
	penaltyStep = 250
)

// drifted reports whether figures have changed by much; the gists are the same.
func drifted(a, b *centralv1.Report) bool {
	for i, link := range b.GetLinks() {
		if math.Abs(link.GetLoad()-a.GetLinks()[i].GetLoad()) > loadStep*max(1, link.GetCapacity()) {
			return true
		}
	}
	for i, n := range b.GetNeighbors() {
		if math.Abs(n.GetFlapPenalty()-a.GetNeighbors()[i].GetFlapPenalty()) >= penaltyStep {
			return true
		}
	}
	return false
}

// gist is what matters of a report to others, but for what changes all the time.
func gist(l liveDoc) uint64 {
	h := fnv.New64a()
	r := l.report()
	fmt.Fprintln(h, len(r.GetServices()), len(r.GetLinks()), len(r.GetNeighbors()), len(r.GetWindows()))
	for _, s := range r.GetServices() {
		fmt.Fprint(h, s.GetName(), s.GetState(), s.GetReason(), s.GetHard(), s.GetWithheld(), "\x00")
	}
	for _, link := range r.GetLinks() {
		fmt.Fprint(h, link.GetName(), link.GetCapacity(), link.GetKnown(), link.GetStale(), "\x00")
	}
	for _, n := range r.GetNeighbors() {
		fmt.Fprint(h, n.GetName(), n.GetSession(), n.GetRung(), "\x00")
	}
	for _, w := range r.GetWindows() {
		fmt.Fprint(h, w.GetId(), w.GetPhase(), "\x00")
	}
	fmt.Fprint(h, len(r.GetWants()), r.GetHeld(), r.GetNotUnderstood())
	return h.Sum64()
}

// beats says that this process is alive, and sends its edges away when it cannot.
func (f *Fleet) beats(ctx context.Context) {
	begun := time.Now()
	f.reached.Store(&begun)
	for n := uint64(1); ; n++ {
		op, err := put(key(kindReplica, f.settings.Replica), replicaDoc{Beat: n, At: time.Now(), Version: f.settings.Version})
		if err == nil {
			limited, cancel := context.WithTimeout(ctx, beatEvery)
			err = f.commit(limited, change{ops: []store.Op{op}})
			cancel()
		}
		switch {
		case err == nil:
			now := time.Now()
			f.reached.Store(&now)
			f.reaches(true)
		case ctx.Err() == nil && time.Since(*f.reached.Load()) > cutOffAfter:
			f.reaches(false)
			f.endAll(errCutOff)
			f.log.Error("the store is out of reach; edges are sent to another centre", "error", err) // last: a log may hang
		}
		if !pause(ctx, beatEvery) {
			return
		}
	}
}

// cutOff reports whether the store is out of reach, also where beats hangs, as it does with a log that nobody takes in: then
// other centres hold this one for dead.
func (f *Fleet) cutOff(now time.Time) bool {
	last := f.reached.Load() // nil: the store has been read just now
	return f.cut.Load() || last != nil && now.Sub(*last) > replicaSilence
}

// reaches says whether the store can be reached, to whoever asks after our health.
func (f *Fleet) reaches(store bool) {
	if f.cut.Swap(!store) == store {
		f.tellHealth(store)
	}
}

// idBytes is how many bytes an id is written of.
const idBytes = 5

// newID makes an id that nobody else makes.
func newID(letter string) string {
	b := make([]byte, idBytes)
	_, _ = rand.Read(b) // never fails: crypto/rand ends the process rather
	return idOf(letter, b)
}

func idOf(letter string, b []byte) string {
	return letter + "-" + strings.ToLower(base32.StdEncoding.EncodeToString(b))
}

// jsonOf is a document as the audit log has it.
func jsonOf(doc any) string {
	data, err := json.Marshal(doc)
	if err != nil {
		return ""
	}
	return string(data)
}
