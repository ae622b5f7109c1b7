package web

import (
	"net/url"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"
)

// formsIn are the forms of a page that are sent by POST.
func formsIn(t testing.TB, body string) (forms []*html.Node, root *html.Node) {
	t.Helper()
	root, err := html.Parse(strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for n := range root.Descendants() {
		if method, _ := attr(n, "method"); n.Data == "form" && method == "post" {
			forms = append(forms, n)
		}
	}
	return forms, root
}

// sentBy is what a browser would send of the form of a page as it is, without its token.
func sentBy(t testing.TB, body string) url.Values {
	t.Helper()
	forms, _ := formsIn(t, body)
	if len(forms) != 1 {
		t.Fatalf("the page has %d forms: %s", len(forms), body)
	}
	out := url.Values{}
	for n := range forms[0].Descendants() {
		name, named := attr(n, "name")
		value, _ := attr(n, "value")
		kind, _ := attr(n, "type")
		_, checked := attr(n, "checked")
		switch {
		case !named || name == tokenField || slices.Contains([]string{"checkbox", "radio"}, kind) && !checked:
		case n.Data == "input":
			out.Add(name, value)
		case n.Data == "textarea":
			out.Add(name, spoken(n))
		}
	}
	return out
}

// hiddenOf is what a browser would send of a form that only asks for a confirmation.
func hiddenOf(t testing.TB, body string) url.Values {
	t.Helper()
	out := sentBy(t, body)
	if len(out) == 0 {
		t.Fatalf("the form has nothing to send: %s", body)
	}
	return out
}

// describedBy is what a field says of itself by aria-describedby.
func describedBy(t testing.TB, body, name string) string {
	t.Helper()
	_, root := formsIn(t, body)
	var ids []string
	for n := range root.Descendants() {
		if id, _ := attr(n, "id"); id == name && name != "" {
			by, _ := attr(n, "aria-describedby")
			ids = strings.Fields(by)
		}
	}
	var out []string
	for n := range root.Descendants() {
		if id, ok := attr(n, "id"); ok && slices.Contains(ids, id) {
			out = append(out, spoken(n))
		}
	}
	return strings.Join(out, " ")
}

// sentTo is what a browser would send of the form of a page with this address.
func sentTo(t testing.TB, body, action string) url.Values {
	t.Helper()
	forms, _ := formsIn(t, body)
	out := url.Values{}
	for _, f := range forms {
		if a, _ := attr(f, "action"); a != action {
			continue
		}
		for n := range f.Descendants() {
			if name, ok := attr(n, "name"); ok && n.Data == "textarea" {
				out.Add(name, spoken(n))
			}
		}
	}
	return out
}

// parsed is the first element of a page of a kind, or of a kind with an id within it:
// section[id].
func parsed(t testing.TB, body, what string) *html.Node {
	t.Helper()
	kind, id, _ := strings.Cut(strings.TrimSuffix(what, "]"), "[")
	_, root := formsIn(t, body)
	for n := range root.Descendants() {
		if n.Data != kind {
			continue
		}
		for c := range n.Descendants() {
			if got, _ := attr(c, "id"); id == "" || got == id {
				return n
			}
		}
	}
	t.Fatalf("the page has no %s: %s", what, body)
	return nil
}
