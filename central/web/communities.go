package web

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	centralv1 "github.com/catchment-bgp/catchment/api/central/v1"
	"github.com/catchment-bgp/catchment/community"
	"github.com/catchment-bgp/catchment/community/export"
	"github.com/catchment-bgp/catchment/community/importer"
	"github.com/catchment-bgp/catchment/community/registry"
)

const (
	// maxPaste bounds what the explain box takes, in bytes; a form's text takes three
	// bytes for one where it is not of letters and digits.
	maxPaste     = 64 << 10
	maxPasteForm = 3*maxPaste + 4<<10
	// maxExplained and maxShown bound the rows of an answer and of the registry.
	maxExplained = 500
	maxShown     = 1000
)

// communitiesPage is what the page of the communities shows.
type communitiesPage struct {
	Paste     string
	Fault     string
	Asked     bool
	Values    []explainedView
	More      int // values beyond maxExplained
	Odd       []registry.Problem
	Tags      []tagView
	Query     string
	Owners    []ownerView
	Shown     int
	Entries   int // of the registry
	Cut       bool
	Findings  []findingView
	Checked   int
	Publish   []publishView
	Problems  []registry.Problem
	NoEntries bool
}

// explainedView is a value and what is known of it.
type explainedView struct {
	Value   string
	Nodes   []nodeLink
	Matches []matchView
}

type matchView struct{ Meaning, Action, Owner, Source, Pattern string }

// tagView is a tag of the fleet.
type tagView struct {
	Value, Meaning string
	Nodes          []nodeLink
	Since          time.Time
	By             string
	Shared         bool
}

type ownerView struct {
	Name, ID string
	Entries  []entryView
	Open     bool
}

type entryView struct{ Pattern, Kind, Action, Meaning, Source string }

type findingView struct {
	Level, Code, Pattern, Words, At string
	Tone                            tone
}

// publishView is the remarks of one AS.
type publishView struct {
	ASN      uint32
	Text     string
	Problems []registry.Problem
}

// levelTones are those of a finding's levels.
var levelTones = map[registry.Level]tone{registry.Error: hot, registry.Warning: warm, registry.Note: dull}

// known is what the fleet's tags and the registry document.
type known struct {
	tags     []registry.Entry
	nodes    map[community.Value][]string
	problems []registry.Problem
	list     []tagView
	all      *registry.Registry
	ours     []uint32 // ASes of the nodes and of their tags
	docs     []registry.Entry
}

// knownNow asks the API for the tags and puts the registry beside them.
func (s *Site) knownNow(ctx context.Context) (known, error) {
	m, err := s.cfg.Fleet.ListNodes(ctx, &centralv1.ListNodesRequest{})
	if err != nil {
		return known{}, err
	}
	return knownOf(m.GetNodes(), s.cfg.Registry), nil
}

func knownOf(nodes []*centralv1.Node, documented *registry.Registry) known {
	var k known
	var tags []registry.Tag
	for _, n := range nodes {
		if asn := n.GetAsn(); asn != 0 && !slices.Contains(k.ours, asn) {
			k.ours = append(k.ours, asn)
		}
		for _, t := range n.GetTags() {
			tags = append(tags, registry.Tag{Node: n.GetName(), ASN: n.GetAsn(), Value: t.GetValue(), Meaning: t.GetMeaning(), Since: moment(t.GetSince())})
			k.tag(n.GetName(), t)
		}
	}
	k.tags, k.nodes, k.problems = registry.Tags(tags)
	for _, e := range k.tags {
		if e.Owner != 0 && !slices.Contains(k.ours, e.Owner) {
			k.ours = append(k.ours, e.Owner)
		}
	}
	slices.Sort(k.ours)
	if documented != nil {
		rfcs := registry.New().Entries() // which every registry has
		for _, e := range documented.Entries() {
			same := func(w registry.Entry) bool { return w.Pattern.Same(e.Pattern) && w.Meaning == e.Meaning }
			if e.Owner != 0 || !slices.ContainsFunc(rfcs, same) {
				k.docs = append(k.docs, e)
			}
		}
	}
	k.all = registry.New(slices.Concat(k.tags, k.docs)...)
	return k
}

// tag adds a node to the list of tags.
func (k *known) tag(node string, t *centralv1.Tag) {
	i := slices.IndexFunc(k.list, func(v tagView) bool { return v.Value == t.GetValue() && v.Meaning == t.GetMeaning() })
	if i < 0 {
		i = len(k.list)
		k.list = append(k.list, tagView{Value: t.GetValue(), Meaning: t.GetMeaning(), Since: moment(t.GetSince()), By: t.GetBy(), Shared: t.GetShared()})
	}
	k.list[i].Nodes = append(k.list[i].Nodes, toNode(node))
}

// explainText says what the communities in any paste mean.
func (k known) explainText(text string) (values []explainedView, more int, odd []registry.Problem) {
	found, odd := importer.Values(strings.NewReader(text))
	seen := map[community.Value]bool{}
	for _, f := range found {
		switch {
		case seen[f.Value]:
			continue
		case len(values) >= maxExplained:
			more++
		default:
			values = append(values, k.explain(f.Value))
		}
		seen[f.Value] = true
	}
	return values, more, odd
}

func (k known) explain(v community.Value) explainedView {
	out := explainedView{Value: v.String()}
	for _, n := range k.nodes[v] {
		out.Nodes = append(out.Nodes, toNode(n))
	}
	for _, m := range k.all.Explain(v) {
		out.Matches = append(out.Matches, matchView{m.Text(), registry.ActionText(m.Action, m.Targets), ownerOf(m.Entry.Owner), m.Entry.Source.String(), m.Entry.Pattern.String()})
	}
	return out
}

func ownerOf(asn uint32) string {
	if asn == 0 {
		return "everybody"
	}
	return fmt.Sprintf("AS%d", asn)
}

// search are the entries that a query names, by owner: by a value that they explain, or
// by any text of theirs. An empty query names all.
func (k known) search(query string) (owners []ownerView, shown int, cut bool) {
	query = registry.Plain(query)
	value, err := community.Parse(query)
	byOwner := map[uint32]*ownerView{}
	var asns []uint32
	for _, e := range k.all.Entries() {
		view := entryView{e.Pattern.String(), string(e.Kind), registry.ActionText(e.Action, e.Targets), e.Text(), e.Source.String()}
		texts := strings.ToLower(strings.Join([]string{view.Pattern, e.Name, view.Kind, view.Action, view.Meaning, ownerOf(e.Owner)}, "\n"))
		if !strings.Contains(texts, query) && (err != nil || !e.Pattern.Match(value)) {
			continue
		}
		if shown == maxShown {
			return sortedOwners(byOwner, asns), shown, true
		}
		o := byOwner[e.Owner]
		if o == nil {
			o = &ownerView{Name: ownerOf(e.Owner), ID: fmt.Sprintf("owner-%d", e.Owner), Open: e.Owner != 0 || query != ""}
			byOwner[e.Owner], asns = o, append(asns, e.Owner)
		}
		o.Entries = append(o.Entries, view)
		shown++
	}
	return sortedOwners(byOwner, asns), shown, false
}

// sortedOwners puts what is everybody's last.
func sortedOwners(all map[uint32]*ownerView, asns []uint32) []ownerView {
	slices.SortFunc(asns, func(a, b uint32) int { return cmp.Compare(a-1, b-1) })
	var out []ownerView
	for _, asn := range asns {
		out = append(out, *all[asn])
	}
	return out
}

// findings are what `catchment community lint` says of the same documents.
func (k known) findings() []findingView {
	var out []findingView
	defects := registry.Lint(slices.Concat(k.tags, k.docs), nil, registry.LintOptions{Problems: k.problems, Without: []registry.LintCode{registry.Unused}})
	for _, d := range defects {
		at := d.At.String()
		if d.Other != nil {
			at += " (" + d.Other.String() + ")"
		}
		out = append(out, findingView{string(d.Level), string(d.Code), d.Pattern, d.Words, at, levelTones[d.Level]})
	}
	return out
}

// publish is what the RIPE DB is to have of each of our ASes: the tags, and what the
// registry has of ours.
func (k known) publish() []publishView {
	var out []publishView
	for _, asn := range k.ours {
		var entries []registry.Entry
		for _, e := range k.all.Entries() {
			if e.Owner == asn {
				entries = append(entries, e)
			}
		}
		var text bytes.Buffer
		problems, err := export.RPSL(&text, entries)
		if err != nil || len(entries) == 0 {
			continue // a buffer takes everything
		}
		out = append(out, publishView{asn, text.String(), problems})
	}
	return out
}

// showCommunities shows the page, with what was asked of the explain box, if anything.
func (s *Site) showCommunities(w http.ResponseWriter, r *http.Request, code int, p communitiesPage) {
	k, err := s.knownNow(r.Context())
	if err != nil {
		s.failed(w, r, err)
		return
	}
	if p.Asked {
		p.Values, p.More, p.Odd = k.explainText(p.Paste)
	}
	p.Tags, p.Problems, p.Findings, p.Publish = k.list, k.problems, k.findings(), k.publish()
	p.Owners, p.Shown, p.Cut = k.search(p.Query)
	p.Entries, p.Checked = len(k.all.Entries()), len(k.tags)+len(k.docs)
	p.NoEntries = len(k.docs) == 0
	s.show(w, r, code, "communities", layout{Title: "Communities", Section: "communities", Body: p})
}

func (s *Site) communities(w http.ResponseWriter, r *http.Request) {
	s.showCommunities(w, r, http.StatusOK, communitiesPage{Query: strings.TrimSpace(r.URL.Query().Get("q"))})
}

// explain says what a paste means. It changes nothing, and is a POST for its length.
func (s *Site) explain(w http.ResponseWriter, r *http.Request) {
	p := communitiesPage{Paste: r.PostForm.Get("text")}
	switch {
	case len(p.Paste) > maxPaste:
		p.Paste, p.Fault = "", fmt.Sprintf("that is longer than %d KiB; paste a part of it", maxPaste>>10)
	case strings.TrimSpace(p.Paste) == "":
		p.Fault = "paste communities, or anything with communities in it"
	}
	p.Asked = p.Fault == ""
	code := http.StatusOK
	if !p.Asked {
		code = http.StatusUnprocessableEntity
	}
	s.showCommunities(w, r, code, p)
}

// rpsl is the remarks to publish as a file.
func (s *Site) rpsl(w http.ResponseWriter, r *http.Request) {
	k, err := s.knownNow(r.Context())
	if err != nil {
		s.failed(w, r, err)
		return
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Content-Disposition", `attachment; filename="communities.txt"`)
	for _, p := range k.publish() {
		if _, err := fmt.Fprintf(w, "aut-num:        AS%d\n%s\n", p.ASN, p.Text); err != nil {
			return // who asked is gone
		}
	}
}
