package registry

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/catchment-bgp/catchment/community"
)

// Tag is an informational community that the routes of one node carry.
type Tag struct {
	Node string
	// ASN is the node's: it documents a value that names no AS itself.
	ASN            uint32
	Value, Meaning string
	Since          time.Time // zero: not known
}

// Tags returns what tags document, and whose tag each value is. A tag that several nodes
// have with one meaning is one entry. A problem is a value that is none.
func Tags(tags []Tag) (entries []Entry, nodes map[community.Value][]string, problems []Problem) {
	nodes = map[community.Value][]string{}
	for _, t := range tags {
		source := Source{File: "node " + t.Node, Date: t.Since}
		v, err := community.Parse(t.Value)
		if err != nil {
			problems = append(problems, Problem{File: source.File, Text: t.Value, Reason: err.Error()})
			continue
		}
		nodes[v] = append(nodes[v], t.Node)
		p := community.PatternOf(v)
		i := slices.IndexFunc(entries, func(e Entry) bool { return e.Pattern.Same(p) && Plain(e.Meaning) == Plain(t.Meaning) })
		if i >= 0 {
			entries[i].Source.File += ", " + t.Node
			continue
		}
		asn, _ := p.First()
		entries = append(entries, Entry{Pattern: p, Kind: KindInfo, Meaning: t.Meaning, Owner: cmp.Or(asn, t.ASN), Source: source, Confidence: 1})
	}
	return entries, nodes, problems
}

// Text is the meaning with the numbers of the value: those that a legend explains, and
// what the others are.
func (m Match) Text() string {
	text := strings.Join(strings.Fields(m.Meaning), " ")
	for _, b := range m.Bindings {
		told := slices.ContainsFunc(m.Entry.Legends, func(l Legend) bool { return l.Var == b.Name })
		if !told {
			text += fmt.Sprintf("; %s = %s", b.Name, b.Text)
		}
	}
	return text
}

// Text is the entry's meaning with its legend.
func (e *Entry) Text() string {
	parts := []string{strings.Join(strings.Fields(e.Meaning), " ")}
	for _, l := range e.Legends {
		if !e.Tells(l) {
			parts = append(parts, l.String())
		}
	}
	return strings.Join(parts, "; ")
}

// ActionText is what is done and towards whom; empty where a is nil.
func ActionText(a *Action, targets []Target) string {
	if a == nil {
		return ""
	}
	var whom []string
	for _, t := range targets {
		if t.Kind != All {
			whom = append(whom, t.String())
		}
	}
	if len(whom) == 0 {
		return a.String()
	}
	return a.String() + " towards " + strings.Join(whom, ", ")
}
