package web

import (
	"net/url"
	"strings"
	"testing"
)

func TestAnAddressToGoToAfterwardsIsAPathOfOurs(t *testing.T) {
	for then, want := range map[string]string{
		"/":                         "/",
		"/nodes/msk1?x=1#y":         "/nodes/msk1?x=1#y",
		"":                          "/",
		"nodes":                     "/",
		"//evil.example":            "/",
		"///evil.example":           "/",
		"/\\evil.example":           "/",
		"\\\\evil.example":          "/",
		"https://evil.example/":     "/",
		"javascript:alert(1)":       "/",
		"/\t/evil.example":          "/",
		"/\n/evil.example":          "/",
		"/%zz":                      "/",
		" //evil.example":           "/",
		"/login/oidc?then=/a":       "/login/oidc?then=/a",
		"https:evil.example":        "/",
		"/a//evil.example":          "/a//evil.example",
		"/%2f/evil.example":         "/%2f/evil.example",
		"/%5cevil.example":          "/%5cevil.example",
		"//user@evil.example/%2f..": "/",
	} {
		if got := ours(then); got != want {
			t.Errorf("%q leads to %q, want %q", then, got, want)
		}
	}
}

// FuzzOurs resolves what comes out as a browser does (URL Standard): with backslashes as
// slashes, and without tabs and line ends.
func FuzzOurs(f *testing.F) {
	for _, seed := range []string{"/", "/a?b#c", "//evil.example", "/\\evil.example", "/\t/evil.example", "http://a/", "/%09/evil", "/..//evil.example", "/.//evil.example"} {
		f.Add(seed)
	}
	here := &url.URL{Scheme: "https", Host: "noc.example.net", Path: "/login"}
	f.Fuzz(func(t *testing.T, then string) {
		got := ours(then)
		seen := strings.NewReplacer("\t", "", "\n", "", "\r", "", "\\", "/").Replace(strings.TrimFunc(got, func(r rune) bool { return r <= ' ' }))
		u, err := url.Parse(seen)
		if err != nil {
			t.Fatalf("%q leads to %q: %v", then, got, err)
		}
		if to := here.ResolveReference(u); to.Scheme != "https" || to.Host != "noc.example.net" || to.User != nil || strings.HasPrefix(seen, "//") || !strings.HasPrefix(seen, "/") {
			t.Errorf("%q leads to %q, which is %s", then, got, to)
		}
	})
}

func TestAClockIsSaidInWords(t *testing.T) {
	for seconds, want := range map[float64]string{0: "as the centre's", -0.04: "as the centre's", 0.04: "as the centre's", 1.26: "1.3 s ahead of the centre's", -7: "7.0 s behind the centre's"} {
		if got := skew(seconds); got != want {
			t.Errorf("%g is %q, want %q", seconds, got, want)
		}
	}
}
