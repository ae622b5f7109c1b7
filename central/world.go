package central

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	centralv1 "github.com/catchment-bgp/catchment/api/central/v1"
	"github.com/catchment-bgp/catchment/central/store"
	"github.com/catchment-bgp/catchment/maintenance"
	"github.com/catchment-bgp/catchment/policy/fleet"
)

// entry is a document and the revision of its last change.
type entry[T any] struct {
	doc      T
	revision store.Revision
}

// table has the documents of a kind by name.
type table[T any] map[string]entry[T]

// get returns a document, or the zero one.
func (t table[T]) get(name string) T { return t[name].doc }

// cond is the condition that a document has not changed since.
func (t table[T]) cond(kind, name string) store.Cond {
	return store.Cond{Key: key(kind, name), Revision: t[name].revision}
}

// apply takes one document in unless it is older than what is there, and reports
// whether it did. No data deletes.
func (t table[T]) apply(name string, data []byte, at store.Revision) (bool, error) {
	if t[name].revision >= at {
		return false, nil
	}
	if data == nil {
		_, had := t[name]
		delete(t, name)
		return had, nil
	}
	var doc T
	if err := json.Unmarshal(data, &doc); err != nil {
		return false, fmt.Errorf("document %s of revision %d: %w", name, at, err)
	}
	t[name] = entry[T]{doc, at}
	return true, nil
}

// world is all that decisions are made of: the store's documents as far as this
// process has seen them, newer reports of the edges whose streams it has, and the
// settings. Documents are never changed in place.
type world struct {
	settings  Settings
	revision  store.Revision
	nodes     table[nodeDoc]
	sessions  table[sessionDoc]
	live      table[liveDoc]
	replicas  table[replicaDoc]
	windows   table[windowDoc]
	overrides table[overrideDoc]
	grants    table[fleet.Grant]
	fences    table[fenceDoc]
	keep      table[keepDoc]
	turns     table[turnDoc]
	fleet     table[freezeDoc]
	peaks     table[fleet.Peaks]
	outside   table[outsideDoc]
	details   table[detailDoc]
	// heard is when a replica's document last changed here.
	heard map[string]time.Time
	// local has what the edges of this process said last; it goes before live.
	local map[string]liveDoc
	// sights is what was last found of who is seen from outside.
	sights map[sightKey]fleet.Sight
}

func newWorld(s Settings) *world {
	return &world{
		settings: s, nodes: table[nodeDoc]{}, sessions: table[sessionDoc]{}, live: table[liveDoc]{},
		replicas: table[replicaDoc]{}, windows: table[windowDoc]{}, overrides: table[overrideDoc]{},
		grants: table[fleet.Grant]{}, fences: table[fenceDoc]{}, keep: table[keepDoc]{}, turns: table[turnDoc]{},
		fleet: table[freezeDoc]{}, peaks: table[fleet.Peaks]{}, outside: table[outsideDoc]{}, details: table[detailDoc]{}, heard: map[string]time.Time{}, local: map[string]liveDoc{},
	}
}

// apply takes a document in and reports whether that changed anything.
func (w *world) apply(k string, data []byte, at store.Revision, now time.Time) (bool, error) {
	kind, name := split(k)
	switch kind {
	case kindNode:
		return w.nodes.apply(name, data, at)
	case kindSession:
		return w.sessions.apply(name, data, at)
	case kindLive:
		return w.live.apply(name, data, at)
	case kindReplica:
		w.heard[name] = now
		return w.replicas.apply(name, data, at)
	case kindWindow:
		return w.windows.apply(name, data, at)
	case kindOverride:
		return w.overrides.apply(name, data, at)
	case kindGrant:
		return w.grants.apply(name, data, at)
	case kindFence:
		return w.fences.apply(name, data, at)
	case kindKeep:
		return w.keep.apply(name, data, at)
	case kindTurn:
		return w.turns.apply(name, data, at)
	case kindFleet:
		return w.fleet.apply(name, data, at)
	case kindPeaks:
		return w.peaks.apply(name, data, at)
	case kindOutside:
		return w.outside.apply(name, data, at)
	case kindDetail:
		_, err := w.details.apply(name, data, at)
		return false, err // nothing follows from it
	}
	return false, nil // the audit log's, the history's, or a newer centre's
}

// has reports whether the world has a document.
func (w *world) has(k string) bool {
	kind, name := split(k)
	has := map[string]func(string) bool{
		kindNode: in(w.nodes), kindSession: in(w.sessions), kindLive: in(w.live), kindReplica: in(w.replicas), kindWindow: in(w.windows),
		kindOverride: in(w.overrides), kindGrant: in(w.grants), kindFence: in(w.fences), kindKeep: in(w.keep), kindTurn: in(w.turns),
		kindFleet: in(w.fleet), kindPeaks: in(w.peaks), kindOutside: in(w.outside), kindDetail: in(w.details),
	}[kind]
	return has != nil && has(name)
}

func in[T any](t table[T]) func(string) bool {
	return func(name string) bool { _, ok := t[name]; return ok }
}

// heardOf returns what was heard of a node last, here or elsewhere.
func (w *world) heardOf(node string) (liveDoc, bool) {
	here, isLocal := w.local[node]
	there, stored := w.live[node]
	if isLocal && (!stored || here.Epoch >= there.doc.Epoch) {
		return here, true
	}
	return there.doc, stored
}

// seen reports whether a node is in contact: with this process, or with another
// that is.
func (w *world) seen(l liveDoc, now time.Time) bool {
	if !l.Up {
		return false
	}
	if l.Replica == w.settings.Replica {
		return now.Sub(l.At) < Silence
	}
	heard, ok := w.heard[l.Replica]
	return ok && now.Sub(heard) < replicaSilence
}

// frozen says why nothing changes by itself, or "".
func (w *world) frozen() string { return w.fleet.get("freeze").Reason }

// targets are all that windows and overrides can be for, of one node or of all
// where node is "".
func (w *world) targets(node string) []maintenance.Target {
	var out []maintenance.Target
	names := []string{node}
	if node == "" {
		names = slices.Sorted(maps.Keys(w.nodes))
	}
	for _, name := range names {
		out = append(out, targetsOf(name, w.nodes.get(name).hello())...)
	}
	return out
}

func targetsOf(name string, h *centralv1.Hello) []maintenance.Target {
	var out []maintenance.Target
	for _, s := range h.GetServices() {
		for _, n := range h.GetNeighbors() {
			out = append(out, maintenance.Target{Node: name, Site: h.GetSite(), Neighbor: n.GetName(), Service: s.GetName(),
				NodeLabels: h.GetLabels(), NeighborLabels: n.GetLabels()})
		}
	}
	return out
}

// neighborsOf returns the targets of one service at a node.
func servicesOf(h *centralv1.Hello) []string {
	var out []string
	for _, s := range h.GetServices() {
		out = append(out, s.GetName())
	}
	return out
}

// grantsOf returns the grants of a node by id.
func (w *world) grantsOf(node string) map[string]entry[fleet.Grant] {
	out := map[string]entry[fleet.Grant]{}
	for name, g := range w.grants {
		if strings.HasPrefix(name, node+"/") {
			out[g.doc.ID] = g
		}
	}
	return out
}

// allGrants returns every grant, sorted by its key.
func (w *world) allGrants() []fleet.Grant {
	var out []fleet.Grant
	for _, name := range slices.Sorted(maps.Keys(w.grants)) {
		out = append(out, w.grants.get(name))
	}
	return out
}

// asnsOf returns the ASNs of a node's external neighbours.
func asnsOf(h *centralv1.Hello) []uint32 {
	var out []uint32
	for _, n := range h.GetNeighbors() {
		if n.GetAsn() != h.GetAsn() {
			out = append(out, n.GetAsn())
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// sorted returns the names of the documents in a table.
func sorted[T any](t table[T]) []string { return slices.Sorted(maps.Keys(t)) }
