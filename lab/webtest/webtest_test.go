package webtest

import (
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const good = `<!doctype html><html lang="en"><head><title>Good</title><meta name="viewport" content="width=device-width">
<link rel="icon" href="data:,"><style>:focus-visible{outline:2px solid}.skip{position:absolute;left:-99rem}.skip:focus{left:0}
@media (prefers-color-scheme: dark){body{background:#000;color:#fff}a{color:#9cf}}</style></head>
<body><a class="skip" href="#content">Skip</a><main id="content" tabindex="-1"><h1>Good</h1><h2>Part</h2>
<svg viewBox="0 0 9 9" width="9" role="img" aria-label="A picture"></svg>
<table><tr><th scope="col">One</th></tr><tr><td><a href="/two">Two</a></td></tr></table>
<form><label for="f">Field</label> <input id="f" autocomplete="off"><button>Send</button></form>
<details><summary>More</summary><p><a href="/three">hidden</a></p></details></main></body></html>`

// serve answers with a page over TLS, and starts a browser that trusts it.
func serve(t *testing.T, page func(w http.ResponseWriter)) *Browser {
	t.Helper()
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		page(w)
	}))
	t.Cleanup(s.Close)
	u, err := url.Parse(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	cert := filepath.Join(t.TempDir(), "cert.pem")
	if err := os.WriteFile(cert, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	return Start(t, Options{Host: u.Host, Cert: cert})
}

// TestAGoodPageHasNoFaults holds the checks to say nothing without a cause.
func TestAGoodPageHasNoFaults(t *testing.T) {
	b := serve(t, func(w http.ResponseWriter) { fmt.Fprint(w, good) })
	for _, dark := range []bool{false, true} {
		for _, width := range []int64{Wide, Narrow} {
			b.Dark(dark)
			b.Width(width)
			b.Open("/")
			if faults := b.Faults(); len(faults) > 0 {
				t.Errorf("dark %v, %d px: %q", dark, width, faults)
			}
		}
	}
	if faults := append(b.Skips(), b.Unreached()...); len(faults) > 0 {
		t.Errorf("by keyboard: %q", faults)
	}
	b.Scripts(false)
	b.Open("/")
	if faults := b.Faults(); len(faults) > 0 {
		t.Errorf("without JavaScript: %q", faults)
	}
	if elsewhere, asked := b.Elsewhere(); len(elsewhere) > 0 || asked == 0 {
		t.Errorf("asked %q, and the server %d times", elsewhere, asked)
	}
}

// TestEachFaultIsFound breaks the good page in one way after the other.
func TestEachFaultIsFound(t *testing.T) {
	var page, policy string
	b := serve(t, func(w http.ResponseWriter) {
		w.Header().Set("Content-Security-Policy", policy)
		fmt.Fprint(w, page)
	})
	b.Width(Narrow)
	const lax = "default-src 'self' 'unsafe-inline' data:; connect-src *"
	for _, tt := range []struct{ old, new, policy, want string }{
		{` lang="en"`, ``, lax, "does not say its language"},
		{`<title>Good</title>`, ``, lax, "no title"},
		{`<h2>`, `<h3>`, lax, "level 3 after one of level 1"},
		{`<h1>Good</h1>`, ``, lax, "0 headings of the first level"},
		{`<label for="f">Field</label>`, `Field`, lax, "a field without a label"},
		{`>Send</button>`, `></button>`, lax, "no name: <button"},
		{`>Two</a>`, `></a>`, lax, "no name: <a"},
		{` aria-label="A picture"`, ``, lax, "a picture without a name"},
		{` scope="col"`, ``, lax, "without scope"},
		{`<h2>Part</h2>`, `<h2 style="color:#999">Part</h2>`, lax, `contrast 2.85 of "Part"`},
		{`<h2>Part</h2>`, `<h2 style="opacity:.5">Part</h2>`, lax, `contrast 3.`},
		{`<h2>Part</h2>`, `<h2 style="width:900px">Part</h2>`, lax, "px wide"},
		{`<h2>Part</h2>`, `<h2 id="f">Part</h2>`, lax, "two elements have the id f"},
		{`</main>`, `<script>console.error("trouble")</script></main>`, lax, "console: \"trouble\""},
		{`</main>`, `<script>throw new Error("thrown")</script></main>`, lax, "exception: Uncaught"},
		{`</main>`, `<script>inline()</script></main>`, "script-src 'none'", "CSP: script-src"},
	} {
		page, policy = strings.Replace(good, tt.old, tt.new, 1), tt.policy
		b.Told()
		b.Open("/")
		if faults := b.Faults(); !strings.Contains(strings.Join(faults, "\n"), tt.want) {
			t.Errorf("%s for %s: %q, want %q", tt.new, tt.old, faults, tt.want)
		}
	}
	for _, tt := range []struct{ old, new, want string }{
		{`<a href="/two">`, `<a href="/two" tabindex="-1">`, `Tab does not reach <a href="/two" tabindex="-1">`},
		{`<style>:focus-visible{outline:2px solid}`, `<style>:focus-visible{outline:none}`, "the focus is not seen"},
		{`.skip:focus{left:0}`, ``, "outside of the window"},
	} {
		page, policy = strings.Replace(good, tt.old, tt.new, 1), lax
		b.Open("/")
		if faults := b.Unreached(); !strings.Contains(strings.Join(faults, "\n"), tt.want) {
			t.Errorf("%s: %q, want %q", tt.new, faults, tt.want)
		}
	}
	page = strings.Replace(good, `</main>`, `<script>fetch("https://elsewhere.invalid/x").catch(() => {})</script></main>`, 1)
	b.Open("/")
	if elsewhere, _ := b.Elsewhere(); len(elsewhere) != 1 || elsewhere[0] != "https://elsewhere.invalid/x" {
		t.Errorf("asked elsewhere: %q", elsewhere)
	}
}
