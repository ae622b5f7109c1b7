package central

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	centralv1 "github.com/catchment-bgp/catchment/api/central/v1"
	"github.com/catchment-bgp/catchment/central/audit"
	"github.com/catchment-bgp/catchment/central/store"
	"github.com/catchment-bgp/catchment/community"
	"github.com/catchment-bgp/catchment/policy/fleet"
)

const (
	// What routers that damp charge for a change of attributes, and the penalty
	// that we keep to (RFC 2439; the defaults of the strictest vendor).
	tagCharge   = 500
	tagLimit    = 1500
	tagHalfLife = 15 * time.Minute
	// tagFence is the fence of all tags; no service has such a name.
	tagFence = "~tags"
	// reportLag is how long a change may be missing in what edges report.
	reportLag = 30 * time.Second
)

// tag is the change that gives a node a tag.
func (w *world) tag(r *centralv1.TagNodeRequest, by Caller, v *view, now time.Time) (change, error) {
	node, ok := w.nodes[r.GetNode()]
	if !ok {
		return change{}, badf("there is no node %q; a node is known once it has spoken to the centre", r.GetNode())
	}
	value, err := community.Parse(r.GetValue())
	if err != nil {
		return change{}, badf("tag: %s", err)
	}
	if err := w.checkTag(r, node.doc, value); err != nil {
		return change{}, err
	}
	t := tagDoc{Value: value.String(), Meaning: strings.TrimSpace(r.GetMeaning()), Shared: r.GetShared(), Since: now, By: by.Name}
	doc := node.doc
	doc.Tags = slices.Clone(doc.Tags)
	if i := slices.IndexFunc(doc.Tags, func(old tagDoc) bool { return old.Value == t.Value && old.Until.IsZero() }); i >= 0 {
		t.Since, t.After = doc.Tags[i].Since, doc.Tags[i].After // its text alone is new
		doc.Tags[i] = t
	} else {
		t.After = now.Add(w.tagWait(r.GetNode(), v, now))
		doc.Tags = append(slices.DeleteFunc(doc.Tags, func(old tagDoc) bool { return old.Value == t.Value }), t)
	}
	slices.SortFunc(doc.Tags, func(a, b tagDoc) int { return strings.Compare(a.Value, b.Value) })
	return w.retag(r.GetNode(), node.doc, doc, audit.Entry{Who: by.Name, Role: by.Role, Method: "TagNode", Target: r.GetNode(),
		Reason: r.GetReason(), Ticket: r.GetTicket(), Outcome: audit.Done, Detail: t.Value + ": " + t.Meaning})
}

// retag is the change of a node's tags. Two changes of tags are never decided at once.
func (w *world) retag(name string, before, after nodeDoc, e audit.Entry) (change, error) {
	e.Before, e.After = jsonOf(before.Tags), jsonOf(after.Tags)
	op, err := put(key(kindNode, name), after)
	if err != nil {
		return change{}, err
	}
	fence, err := w.fence(tagFence)
	return change{conds: []store.Cond{w.nodes.cond(kindNode, name), w.fences.cond(kindFence, tagFence)},
		ops: []store.Op{op, fence}, entries: []audit.Entry{e}}, err
}

// checkTag refuses what is no tag of ours.
func (w *world) checkTag(r *centralv1.TagNodeRequest, node nodeDoc, value community.Value) error {
	if err := needShort("the meaning", r.GetMeaning()); err != nil {
		return err
	}
	asn := w.settings.ASN
	if asn == 0 {
		asn = node.hello().GetAsn()
	}
	admin, known := administrator(value)
	switch {
	case strings.TrimSpace(r.GetMeaning()) == "":
		return refusef("meaning", "tag %s has no meaning; say what it tells with --meaning", value)
	case wellKnown(value):
		return refusef("well_known", "%s is a well-known community: others act on it", value)
	case !known || admin != asn:
		return refusef("asn", "%s is not of our AS %d", value, asn)
	}
	if e := w.settings.action(value, asn); e != nil {
		return refusef("action", "%s is an action: %s (%s:%d)", value, e.Meaning, e.Source.File, e.Source.Line)
	}
	for _, name := range sorted(w.nodes) {
		if name == r.GetNode() || r.GetShared() {
			continue
		}
		for _, t := range w.nodes.get(name).Tags {
			if t.Value == value.String() && t.Until.IsZero() {
				return refusef("shared", "node %s has tag %s already (%s); write --shared if both shall have it", name, value, t.Meaning)
			}
		}
	}
	return nil
}

// wellKnown reports whether a community is of the reserved range (RFC 1997): others
// act on those, or will.
func wellKnown(v community.Value) bool {
	n, ok := v.Standard()
	return ok && (n>>16 == 0xffff || n>>16 == 0)
}

// administrator is the AS that gives a community its meaning.
func administrator(v community.Value) (uint32, bool) {
	if n, ok := v.Standard(); ok {
		return n >> 16, true
	}
	if l, ok := v.Large(); ok {
		return l[0], true
	}
	parts := strings.Split(v.String(), ":") // rt:57629:101
	if len(parts) != 3 {
		return 0, false
	}
	n, err := strconv.ParseUint(parts[1], 10, 32)
	return uint32(n), err == nil
}

// tagWait is how long a change of a node's tags waits for what was charged at the
// ASes of its neighbours.
func (w *world) tagWait(node string, v *view, now time.Time) time.Duration {
	penalty := map[uint32]float64{}
	if v != nil {
		maps.Copy(penalty, v.penalty)
	}
	for name, n := range w.nodes {
		charged := 0.0
		for _, t := range n.doc.Tags {
			for _, at := range []time.Time{t.After, t.Until} {
				if !at.IsZero() && now.Sub(at) < reportLag {
					charged += tagCharge
				}
			}
		}
		if charged > 0 {
			for _, asn := range asnsOf(n.doc.hello()) {
				reported := 0.0 // which has the same changes, or will have them soon
				if v != nil {
					reported = v.own[name][asn]
				}
				penalty[asn] += max(0, charged-reported)
			}
		}
	}
	return fleet.Stagger([]fleet.Change{{Node: node, ASNs: asnsOf(w.nodes.get(node).hello())}},
		fleet.Damping{Charge: tagCharge, Limit: tagLimit, HalfLife: tagHalfLife, Penalty: penalty})[0]
}

// untag is the change that takes a tag away.
func (w *world) untag(r *centralv1.UntagNodeRequest, by Caller, v *view, now time.Time) (change, error) {
	node, ok := w.nodes[r.GetNode()]
	if !ok {
		return change{}, badf("there is no node %q; a node is known once it has spoken to the centre", r.GetNode())
	}
	value, err := community.Parse(r.GetValue())
	if err != nil {
		return change{}, badf("tag: %s", err)
	}
	doc := node.doc
	doc.Tags = slices.Clone(doc.Tags)
	i := slices.IndexFunc(doc.Tags, func(t tagDoc) bool { return t.Value == value.String() && t.Until.IsZero() })
	if i < 0 {
		return change{}, badf("node %s has no tag %s", r.GetNode(), value)
	}
	doc.Tags[i].Until = now.Add(w.tagWait(r.GetNode(), v, now))
	doc.Tags = slices.DeleteFunc(doc.Tags, func(t tagDoc) bool { return !t.Until.IsZero() && now.Sub(t.Until) > reportLag })
	return w.retag(r.GetNode(), node.doc, doc, audit.Entry{Who: by.Name, Role: by.Role, Method: "UntagNode", Target: r.GetNode(),
		Reason: r.GetReason(), Ticket: r.GetTicket(), Outcome: audit.Done, Detail: value.String()})
}
