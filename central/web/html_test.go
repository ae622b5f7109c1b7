package web

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"
)

// checkHTML reports what is wrong with a whole page: whatever the policy of the site
// forbids (scripts, styles and handlers within the page, anything of other hosts), and
// whatever people without a mouse or without eyes miss (labels, headings, names of
// pictures, ids that are not unique).
func checkHTML(t testing.TB, body string) {
	t.Helper()
	for _, fault := range htmlFaults(body) {
		t.Errorf("the page: %s", fault)
	}
}

// htmlFaults are what checkHTML reports.
func htmlFaults(body string) []string {
	root, err := html.ParseWithOptions(strings.NewReader(body), html.ParseOptionEnableScripting(false))
	if err != nil {
		return []string{err.Error()}
	}
	p := &pageCheck{ids: map[string]int{}, labelled: map[string]bool{}}
	for n := range root.Descendants() {
		if id, ok := attr(n, "id"); ok {
			p.ids[id]++
		}
		if of, ok := attr(n, "for"); n.Data == "label" && ok {
			p.labelled[of] = true
		}
	}
	for n := range root.Descendants() {
		if n.Type == html.ElementNode {
			p.element(n)
		}
	}
	for id, n := range p.ids {
		if n > 1 || id == "" || strings.ContainsAny(id, " \t\n") {
			p.fault("id %q stands there %d times", id, n)
		}
	}
	for id := range p.labelled {
		if p.ids[id] == 0 {
			p.fault("a label is for %q, which is not there", id)
		}
	}
	if !slices.Contains(p.levels, 1) || slices.Index(p.levels, 1) != 0 || count(p.levels, 1) != 1 {
		p.fault("one h1 is needed, before all other headings; there are %v", p.levels)
	}
	for i := 1; i < len(p.levels); i++ {
		if p.levels[i] > p.levels[i-1]+1 {
			p.fault("h%d follows h%d", p.levels[i], p.levels[i-1])
		}
	}
	if !p.lang || !p.title {
		p.fault("a language (%v) and a title (%v) are needed", p.lang, p.title)
	}
	slices.Sort(p.faults)
	return p.faults
}

type pageCheck struct {
	faults      []string
	ids         map[string]int
	labelled    map[string]bool
	levels      []int // of the headings
	lang, title bool
}

func (p *pageCheck) fault(format string, args ...any) {
	p.faults = append(p.faults, fmt.Sprintf(format, args...))
}

func (p *pageCheck) element(n *html.Node) {
	p.policy(n)
	for _, name := range []string{"aria-labelledby", "aria-describedby", "list", "aria-controls"} {
		refs, _ := attr(n, name)
		for _, id := range strings.Fields(refs) {
			if p.ids[id] == 0 {
				p.fault("<%s> has %s=%q, which is not there", n.Data, name, id)
			}
		}
	}
	switch n.Data {
	case "html":
		_, p.lang = attr(n, "lang")
	case "title":
		p.title = p.title || n.Parent.Data == "head" && spoken(n) != ""
	case "h1", "h2", "h3", "h4", "h5", "h6":
		p.levels = append(p.levels, int(n.Data[1]-'0'))
		if spoken(n) == "" {
			p.fault("an empty <%s>", n.Data)
		}
	case "input", "select", "textarea":
		p.field(n)
	case "svg", "img":
		p.picture(n)
	case "form":
		p.form(n)
	case "th":
		if scope, _ := attr(n, "scope"); scope != "col" && scope != "row" && scope != "rowgroup" && scope != "colgroup" {
			p.fault("<th>%s</th> has no scope", spoken(n))
		}
	case "button", "a", "summary":
		if !p.named(n) {
			p.fault("a <%s> without words", n.Data)
		}
	case "time":
		moment, _ := attr(n, "datetime")
		if _, err := time.Parse(time.RFC3339, moment); err != nil {
			p.fault("<time datetime=%q>", moment)
		}
	case "fieldset":
		p.first(n, "legend")
	case "details":
		p.first(n, "summary")
	}
}

// policy is what the Content-Security-Policy forbids, and what would ask other hosts.
func (p *pageCheck) policy(n *html.Node) {
	if src, ok := attr(n, "src"); n.Data == "style" || n.Data == "script" && (!ok || src == "") {
		p.fault("<%s> within the page", n.Data)
	}
	for _, a := range n.Attr {
		value := strings.ToLower(strings.TrimSpace(a.Val))
		switch {
		case a.Key == "style", strings.HasPrefix(a.Key, "on"):
			p.fault("<%s %s=%q>", n.Data, a.Key, a.Val)
		case slices.Contains([]string{"href", "src", "action", "formaction", "data", "poster"}, a.Key):
			if strings.HasPrefix(value, "//") || strings.Contains(strings.SplitN(value, "/", 2)[0], ":") {
				p.fault("<%s %s=%q> leads elsewhere", n.Data, a.Key, a.Val)
			}
			if strings.Contains(value, "zgotmplz") {
				p.fault("<%s %s=%q>: the template refuses what stands there", n.Data, a.Key, a.Val)
			}
		}
	}
}

func (p *pageCheck) field(n *html.Node) {
	kind, _ := attr(n, "type")
	if slices.Contains([]string{"hidden", "submit", "button", "reset"}, kind) {
		return
	}
	name, _ := attr(n, "name")
	id, _ := attr(n, "id")
	label, _ := attr(n, "aria-label")
	_, by := attr(n, "aria-labelledby")
	if !p.labelled[id] && label == "" && !by && above(n, "label") == nil {
		p.fault("<%s name=%q> has no label", n.Data, name)
	}
	if kind == "radio" && above(n, "fieldset") == nil {
		p.fault("<input type=radio name=%q> stands in no fieldset", name)
	}
	if invalid, _ := attr(n, "aria-invalid"); invalid == "true" {
		if refs, _ := attr(n, "aria-describedby"); refs == "" {
			p.fault("<%s name=%q> is wrong and does not say why", n.Data, name)
		}
	}
}

func (p *pageCheck) picture(n *html.Node) {
	if hidden, _ := attr(n, "aria-hidden"); hidden == "true" {
		return
	}
	if n.Data == "img" {
		if _, ok := attr(n, "alt"); !ok {
			p.fault("<img> without alt")
		}
		return
	}
	role, _ := attr(n, "role")
	label, _ := attr(n, "aria-label")
	by, _ := attr(n, "aria-labelledby")
	if role != "img" || label == "" && by == "" {
		p.fault("<svg role=%q> says neither what it shows nor that it says nothing", role)
	}
}

// form checks that what changes something is sent with a token.
func (p *pageCheck) form(n *html.Node) {
	method, _ := attr(n, "method")
	action, _ := attr(n, "action")
	if !strings.HasPrefix(action, "/") {
		p.fault("<form action=%q>: its address is to begin with /", action)
	}
	token := false
	for c := range n.Descendants() {
		name, _ := attr(c, "name")
		value, _ := attr(c, "value")
		token = token || c.Data == "input" && name == tokenField && value != ""
	}
	if post := strings.EqualFold(method, "post"); post != token {
		p.fault("<form method=%q action=%q>: has a token: %v", method, action, token)
	}
}

// named reports whether a control says what it is for.
func (p *pageCheck) named(n *html.Node) bool {
	label, _ := attr(n, "aria-label")
	by, _ := attr(n, "aria-labelledby")
	if label != "" || by != "" || spoken(n) != "" {
		return true
	}
	for c := range n.Descendants() {
		if l, _ := attr(c, "aria-label"); l != "" {
			return true
		}
	}
	return false
}

// first checks what the first element within another one is.
func (p *pageCheck) first(n *html.Node, want string) {
	for c := range n.ChildNodes() {
		if c.Type != html.ElementNode {
			continue
		}
		if c.Data != want || spoken(c) == "" {
			break
		}
		return
	}
	p.fault("<%s> does not begin with a <%s>", n.Data, want)
}

func attr(n *html.Node, name string) (string, bool) {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val, true
		}
	}
	return "", false
}

// above is the nearest element of a kind around another.
func above(n *html.Node, data string) *html.Node {
	for up := range n.Ancestors() {
		if up.Data == data {
			return up
		}
	}
	return nil
}

// spoken is the text within a node, with single blanks.
func spoken(n *html.Node) string {
	var b strings.Builder
	for c := range n.Descendants() {
		if c.Type == html.TextNode {
			b.WriteString(c.Data + " ")
		}
	}
	return strings.Join(strings.Fields(b.String()), " ")
}

// readText is what a reader of a page sees of it, with single blanks.
func readText(t testing.TB, body string) string {
	t.Helper()
	root, err := html.Parse(strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	return spoken(root)
}

func count[T comparable](all []T, one T) (n int) {
	for _, v := range all {
		if v == one {
			n++
		}
	}
	return n
}

func TestFaultsOfAPageAreFound(t *testing.T) {
	page := func(body string) string {
		return `<!doctype html><html lang="en"><head><title>A page</title></head><body><h1>A page</h1>` + body + `</body></html>`
	}
	for body, want := range map[string]string{
		`<p>all is well</p>`:                                        "",
		`<script>x()</script>`:                                      "<script> within the page",
		`<script src="/a.js"></script>`:                             "",
		`<script src="https://a.example/a.js"></script>`:            "leads elsewhere",
		`<style>p{}</style>`:                                        "<style> within the page",
		`<p style="color:red">a</p>`:                                "style=",
		`<p onclick="x()">a</p>`:                                    "onclick=",
		`<a href="javascript:x()">a</a>`:                            "leads elsewhere",
		`<a href="//a.example/">a</a>`:                              "leads elsewhere",
		`<a href="#ZgotmplZ">a</a>`:                                 "the template refuses",
		`<a href="/a"></a>`:                                         "without words",
		`<p id="a"></p><p id="a"></p>`:                              `id "a" stands there 2 times`,
		`<h3>a</h3>`:                                                "h3 follows h1",
		`<h1>a</h1>`:                                                "one h1 is needed",
		`<h2></h2>`:                                                 "an empty <h2>",
		`<input name="a">`:                                          `<input name="a"> has no label`,
		`<label>A <input name="a"></label>`:                         "",
		`<label for="a">A</label><select id="a"></select>`:          "",
		`<label for="b">A</label>`:                                  `a label is for "b"`,
		`<textarea aria-label="A" aria-describedby="b"></textarea>`: `aria-describedby="b"`,
		`<input aria-label="A" aria-invalid="true">`:                "does not say why",
		`<input type="radio" aria-label="A">`:                       "stands in no fieldset",
		`<fieldset><p>a</p></fieldset>`:                             "does not begin with a <legend>",
		`<details><summary>a</summary></details>`:                   "",
		`<details>a</details>`:                                      "does not begin with a <summary>",
		`<svg></svg>`:                                               "says neither",
		`<svg aria-hidden="true"></svg>`:                            "",
		`<svg role="img" aria-label="A"></svg>`:                     "",
		`<img src="/a.svg">`:                                        "<img> without alt",
		`<table><tr><th>a</th></tr></table>`:                        "has no scope",
		`<time datetime="today">a</time>`:                           `<time datetime="today">`,
		`<form action="/a" method="post"></form>`:                   "has a token: false",
		`<form action="/a" method="get"><input type="hidden" name="token" value="x"></form>`: "has a token: true",
		`<form method="get"></form>`: "is to begin with /",
		`<button></button>`:          "without words",
	} {
		faults := strings.Join(htmlFaults(page(body)), "\n")
		if (faults == "") != (want == "") || !strings.Contains(faults, want) {
			t.Errorf("%s: the faults are %s; want %s", body, strconv.Quote(faults), strconv.Quote(want))
		}
	}
}
