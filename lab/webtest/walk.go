package webtest

import (
	"context"
	"fmt"
	"net/url"
	"strings"

	"github.com/chromedp/chromedp"
)

const (
	// maxPages bounds a walk, and maxAlike the pages that differ in what stands behind
	// their path's first part or in their query only.
	maxPages = 40
	maxAlike = 3
)

// linksScript has the addresses that a page leads to.
const linksScript = `[...document.querySelectorAll("a[href]:not([download])")].map((a) => a.href)`

// Walk opens a page, those that it leads to and so on, on this server alone, and calls visit
// on each with its path. Of pages alike it visits a few.
func (b *Browser) Walk(from string, visit func(path string)) (visited []string) {
	b.t.Helper()
	todo, known, alike := []string{from}, map[string]bool{from: true}, map[string]int{}
	for len(todo) > 0 && len(visited) < maxPages {
		path := todo[0]
		todo = todo[1:]
		visited = append(visited, path)
		if !b.opens(path) || Eval[string](b, "document.contentType") != "text/html" {
			continue // a file
		}
		links := Eval[[]string](b, linksScript)
		visit(path)
		for _, link := range links {
			u, err := url.Parse(link)
			if err != nil || u.Host != b.o.Host || strings.HasPrefix(u.Path, "/static/") || strings.HasPrefix(u.Path, "/v1/") {
				continue
			}
			next := u.EscapedPath()
			if u.RawQuery != "" {
				next += "?" + u.RawQuery
			}
			if kind := kindOf(u); !known[next] && alike[kind] < maxAlike {
				known[next] = true
				alike[kind]++
				todo = append(todo, next)
			}
		}
	}
	return visited
}

// opens goes to a path; false: it is a file to be kept, and the page stays as it was.
func (b *Browser) opens(path string) bool {
	b.t.Helper()
	limited, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	err := chromedp.Do(limited, chromedp.Navigate("https://"+b.o.Host+path))
	if err != nil && !strings.Contains(err.Error(), "net::ERR_ABORTED") {
		b.t.Fatalf("opening %s: %v", path, err)
	}
	return err == nil
}

// kindOf is what pages alike have in common: /nodes/msk1 and /nodes/spb1 are of one kind.
func kindOf(u *url.URL) string {
	parts := strings.SplitN(strings.Trim(u.Path, "/"), "/", 3)
	if len(parts) > 1 {
		parts[1] = "*"
	}
	kind := strings.Join(parts, "/")
	if u.RawQuery != "" {
		kind += "?"
	}
	return kind
}

// Inspect looks at the page that is open in all the ways that its readers do: light and
// dark, on a desk and on a telephone, by keyboard, and without JavaScript. It returns each
// fault with the way. The page that is open afterwards runs no JavaScript; the next one does.
func (b *Browser) Inspect(path string) (faults []string) {
	b.t.Helper()
	note := func(way string, found []string) {
		for _, f := range found {
			faults = append(faults, fmt.Sprintf("%s, %s: %s", path, way, f))
		}
	}
	note("light", b.Faults())
	b.Shot(path + "-light")
	b.Dark(true)
	note("dark", b.Faults())
	b.Shot(path + "-dark")
	b.Dark(false)
	b.Width(Narrow)
	note("narrow", b.Faults())
	b.Shot(path + "-narrow")
	b.Width(Wide)
	note("keyboard", b.Unreached())
	with := Eval[[]string](b, headingsScript)
	b.Scripts(false)
	b.Open(path)
	note("without JavaScript", b.Faults())
	if without := Eval[[]string](b, headingsScript); strings.Join(with, "\n") != strings.Join(without, "\n") {
		note("without JavaScript", []string{fmt.Sprintf("the headings are %q, and with it %q", without, with)})
	}
	b.Scripts(true)
	return faults
}

// headingsScript has what a page is about.
const headingsScript = `[...document.querySelectorAll("h1, h2, h3, caption, label")].map((h) => h.textContent.trim())`
