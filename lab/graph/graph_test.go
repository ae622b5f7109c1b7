package graph

import (
	"bytes"
	"encoding/xml"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

var rewrite = flag.Bool("update", false, "rewrite the golden file")

func draw(t interface {
	Helper()
	Fatalf(string, ...any)
}, g Graph) []byte {
	t.Helper()
	b, err := g.SVG()
	if err != nil {
		t.Fatalf("%v", err)
	}
	return b
}

func TestASmallGraphIsDrawnAsItWas(t *testing.T) {
	const file = "testdata/five.svg"
	got := draw(t, five())
	if *rewrite {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("the picture is another one (-update after a look at it):\n%s", got)
	}
}

// picture is what a document has, as a reader of XML finds it.
type picture struct {
	title               string
	nodes, lines, words []element
}

type element struct{ class, title, text string }

// group is any element, with the elements below it.
type group struct {
	XMLName xml.Name
	Class   string  `xml:"class,attr"`
	Title   string  `xml:"title"`
	Texts   []text  `xml:"text"`
	Groups  []group `xml:"g"`
	Paths   []group `xml:"path"`
}

type text struct {
	Text string `xml:",chardata"`
}

// look reads a document, and fails when it is not one document of XML.
func look(document []byte) (picture, error) {
	var root group
	d := xml.NewDecoder(bytes.NewReader(document))
	if err := d.Decode(&root); err != nil {
		return picture{}, err
	}
	if rest, err := d.Token(); err == nil {
		if space, ok := rest.(xml.CharData); !ok || len(bytes.TrimSpace(space)) > 0 {
			return picture{}, fmt.Errorf("%v behind the document", rest)
		}
	} else if !errors.Is(err, io.EOF) {
		return picture{}, err
	}
	p := picture{title: root.Title}
	var walk func(group)
	walk = func(g group) {
		var texts []string
		for _, t := range g.Texts {
			texts = append(texts, t.Text)
		}
		e := element{g.Class, g.Title, strings.Join(texts, "|")}
		switch first, _, _ := strings.Cut(g.Class, " "); first {
		case "node":
			p.nodes = append(p.nodes, e)
		case "link", "session":
			p.lines = append(p.lines, e)
		case "word":
			p.words = append(p.words, e)
		}
		for _, below := range append(g.Groups, g.Paths...) {
			walk(below)
		}
	}
	walk(root)
	return p, nil
}

func TestStatesAreToldByStyleAndWord(t *testing.T) {
	p, err := look(draw(t, five()))
	if err != nil {
		t.Fatal(err)
	}
	classes := map[string]string{}
	for _, l := range p.lines {
		classes[l.title] = l.class
	}
	for title, class := range map[string]string{
		"edge1:eth1 to transit1:eth2: BGP up":                                        "link up",
		"edge1:eth1 to transit2:eth2: BGP down, edge1 says Idle: hold timer expired": "link down",
		"transit1:eth1 to transit2:eth2: BGP 1 of 2, fd77:3::1 is Active":            "link partly",
		"client1:eth1 to transit1:eth2":                                              "link",
	} {
		if classes[title] != class {
			t.Errorf("%q is of class %q, want %q; there are %v", title, classes[title], class, classes)
		}
	}
	var words []string
	for _, w := range p.words {
		words = append(words, w.class+": "+w.text)
	}
	if got := strings.Join(words, ", "); got != "word down: down, word partly: 1 of 2" {
		t.Errorf("words %s", got)
	}
	for _, class := range []string{"path.up", "path.partly", "path.down"} {
		if strings.Count(style, class+"{") != 2 {
			t.Errorf("%s is not told both on light and on dark paper", class)
		}
	}
}

func TestNoLabelCoversAnotherOne(t *testing.T) {
	for _, g := range []Graph{five(), fifteen(), forty()} {
		apart(t, g)
		p, err := look(draw(t, g))
		if err != nil || len(p.nodes) != len(g.Nodes) || len(p.words) == 0 {
			t.Errorf("%s: %d nodes, %d words, %v", g.Title, len(p.nodes), len(p.words), err)
		}
	}
}

// apart fails when two nodes, or a word and a node, or two words lie over each other.
func apart(t interface {
	Helper()
	Fatalf(string, ...any)
	Errorf(string, ...any)
}, g Graph) {
	t.Helper()
	known, err := g.check()
	if err != nil {
		t.Fatalf("%v", err)
	}
	d := g.plan(known)
	var taken []box
	for i, n := range g.Nodes {
		b := d.area(i)
		for k, other := range taken {
			if b.overlaps(other) {
				t.Errorf("%q lies over %q: %v, %v", n.Name, g.Nodes[k].Name, b, other)
			}
		}
		if b.left < 0 || b.top < 0 || b.right > d.width {
			t.Errorf("%q lies outside: %v in %d", n.Name, b, d.width)
		}
		taken = append(taken, b)
	}
	for i, l := range d.lines {
		area, _, ok := settleWord(d.routes[i], "down", taken)
		if l.word == "" || !ok {
			continue
		}
		for _, other := range taken {
			if area.overlaps(other) {
				t.Errorf("a word lies over something: %v, %v", area, other)
			}
		}
		taken = append(taken, area)
	}
}

// anyGraph draws graphs with any names.
func anyGraph() *rapid.Generator[Graph] {
	return rapid.Custom(func(t *rapid.T) Graph {
		text := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"<g>", "]]>", "&amp;", "\"'", "\x00\x1b[2J", "\ufffe", "\xff\xfe", "]]&gt;", "длинное имя узла, которое не помещается"}))
		g := Graph{Title: text.Draw(t, "title")}
		for _, name := range rapid.SliceOfNDistinct(text, 1, 40, rapid.ID[string]).Draw(t, "names") {
			g.Nodes = append(g.Nodes, Node{Name: name, Label: text.Draw(t, "label"),
				Kind: rapid.SampledFrom([]string{"catchment-central", "catchment-edge", "client", "frr", "switch", "", "<x>"}).Draw(t, "kind")})
		}
		if len(g.Nodes) < 2 {
			return g
		}
		ends := func(what string) (string, string) {
			a := rapid.IntRange(0, len(g.Nodes)-1).Draw(t, what)
			b := rapid.IntRange(1, len(g.Nodes)-1).Draw(t, what)
			return g.Nodes[a].Name, g.Nodes[(a+b)%len(g.Nodes)].Name
		}
		for range rapid.IntRange(0, 60).Draw(t, "links") {
			a, b := ends("link")
			g.Links = append(g.Links, Link{End{a, text.Draw(t, "interface")}, End{b, ""}})
		}
		told := map[[2]string]bool{}
		for range rapid.IntRange(0, 30).Draw(t, "sessions") {
			a, b := ends("session")
			if told[pair(a, b)] {
				continue
			}
			told[pair(a, b)] = true
			of := rapid.IntRange(1, 4).Draw(t, "of")
			g.Sessions = append(g.Sessions, Session{A: a, B: b, Of: of, Up: rapid.IntRange(0, of).Draw(t, "up"), Detail: text.Draw(t, "detail")})
		}
		return g
	})
}

func TestEveryNodeAndLinkIsInTheDocumentOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := anyGraph().Draw(t, "graph")
		document := draw(t, g)
		p, err := look(document)
		if err != nil {
			t.Fatalf("no XML: %v\n%s", err, document)
		}
		linked := map[[2]string]bool{}
		for _, l := range g.Links {
			linked[pair(l.A.Node, l.B.Node)] = true
		}
		far := 0
		for _, s := range g.Sessions {
			if !linked[pair(s.A, s.B)] {
				far++
			}
		}
		if len(p.nodes) != len(g.Nodes) || len(p.lines) != len(g.Links)+far {
			t.Fatalf("%d nodes and %d lines, want %d and %d", len(p.nodes), len(p.lines), len(g.Nodes), len(g.Links)+far)
		}
		for i, n := range g.Nodes {
			if second := n.second(); second == "" && p.nodes[i].title != readable(n.Name) || second != "" && p.nodes[i].title != readable(n.Name+": "+second) {
				t.Fatalf("node %q has the title %q", n.Name, p.nodes[i].title)
			}
		}
		for i, l := range g.Links {
			if !strings.HasPrefix(p.lines[i].title, readable(l.A.String()+" to "+l.B.String())) {
				t.Fatalf("link %v has the title %q", l, p.lines[i].title)
			}
		}
		if p.title != readable(g.Title) {
			t.Fatalf("title %q of %q", p.title, g.Title)
		}
		if again := draw(t, g); !bytes.Equal(document, again) {
			t.Fatalf("the same graph is drawn in two ways")
		}
		apart(t, g)
	})
}

// readable is what a text becomes in XML: characters that may not stand there are replaced.
func readable(text string) string {
	return strings.Map(func(r rune) rune {
		if r < 0x20 || r == 0xFFFE || r == 0xFFFF {
			return '\ufffd'
		}
		return r
	}, text)
}

func TestWhatCannotBeDrawnIsRefused(t *testing.T) {
	a, b := Node{Name: "a"}, Node{Name: "b"}
	for want, g := range map[string]Graph{
		"no node to draw":    {},
		`two nodes "a"`:      {Nodes: []Node{a, a}},
		`"c", which is no`:   {Nodes: []Node{a, b}, Links: []Link{link("a", "c")}},
		`both ends of a lin`: {Nodes: []Node{a}, Links: []Link{link("a", "a")}},
		`session ends at "c"`: {Nodes: []Node{a}, Sessions: []Session{
			{A: "c", B: "a", Of: 1}}},
		"are told twice":     {Nodes: []Node{a, b}, Sessions: []Session{{A: "a", B: "b", Of: 1}, {A: "b", B: "a", Of: 1}}},
		"2 of 1 sessions":    {Nodes: []Node{a, b}, Sessions: []Session{{A: "a", B: "b", Up: 2, Of: 1}}},
		"0 of 0 sessions":    {Nodes: []Node{a, b}, Sessions: []Session{{A: "a", B: "b"}}},
		"too many to draw; ": {Nodes: make([]Node, maxNodes+1)},
	} {
		if got, err := g.SVG(); err == nil || !strings.Contains(err.Error(), want) || got != nil {
			t.Errorf("want %q, got %v and %d octets", want, err, len(got))
		}
	}
}

func TestRowsStandFromTheCentreToTheClients(t *testing.T) {
	g := fifteen()
	known, err := g.check()
	if err != nil {
		t.Fatal(err)
	}
	row, count := rows(g.Nodes, g.lines(known))
	for name, want := range map[string]int{"centre": 0, "edge1": 1, "edge2": 1, "moscow": 2, "ix": 2, "rs": 3, "omsk": 3, "rr": 4, "client1": 5, "client2": 5} {
		if row[known[name]] != want {
			t.Errorf("%s is in row %d, want %d", name, row[known[name]], want)
		}
	}
	if count != 6 {
		t.Errorf("%d rows", count)
	}
}

func TestParallelLinksAreSeenApart(t *testing.T) {
	g := Graph{Nodes: []Node{{Name: "a", Kind: "catchment-edge"}, {Name: "b"}, {Name: "c"}},
		Links: []Link{link("a", "b"), link("a", "b"), link("b", "c"), link("b", "c"), link("a", "c")}}
	known, err := g.check()
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]int{}
	for i, pieces := range g.plan(known).routes {
		d := path(pieces)
		if other, twice := seen[d]; twice {
			t.Errorf("links %d and %d are one line: %s", other, i, d)
		}
		seen[d] = i
	}
}

func TestTheLargestGraphIsDrawnToo(t *testing.T) {
	var g Graph
	for i := range maxNodes {
		kind := []string{"catchment-central", "catchment-edge", "client", "frr", "bird"}[i%5]
		g.Nodes = append(g.Nodes, Node{Name: fmt.Sprint("node", i), Kind: kind})
	}
	for i := range maxLines {
		a := i * 7919 % maxNodes
		g.Links = append(g.Links, link(g.Nodes[a].Name, g.Nodes[(a+1+i*104729%(maxNodes-1))%maxNodes].Name))
	}
	p, err := look(draw(t, g))
	if err != nil || len(p.nodes) != maxNodes || len(p.lines) != maxLines {
		t.Errorf("%d nodes and %d lines, %v", len(p.nodes), len(p.lines), err)
	}
}
