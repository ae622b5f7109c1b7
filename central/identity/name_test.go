package identity

import (
	"strings"
	"testing"
)

func TestParseName(t *testing.T) {
	good := map[string]Name{
		"spiffe://example.net/edge/msk1":   {"example.net", Edge, "msk1"},
		"spiffe://example.net/noc/anna.b":  {"example.net", NOC, "anna.b"},
		"spiffe://c_1-x.net/central/1-2_3": {"c_1-x.net", Central, "1-2_3"},
	}
	for text, want := range good {
		got, err := ParseName(text)
		if err != nil || got != want || got.String() != text {
			t.Errorf("%s: %v %v", text, got, err)
		}
	}
	bad := map[string]string{
		"":                                                                 "does not begin",
		"https://example.net/edge/msk1":                                    "does not begin",
		"SPIFFE://example.net/edge/msk1":                                   "does not begin",
		"spiffe://example.net/edge":                                        "is not spiffe://DOMAIN/KIND/NAME",
		"spiffe://example.net/edge/a/b":                                    "is not spiffe://DOMAIN/KIND/NAME",
		"spiffe://example.net/edge/msk1/":                                  "is not spiffe://DOMAIN/KIND/NAME",
		"spiffe:///edge/msk1":                                              "domain is empty",
		"spiffe://Example.net/edge/msk1":                                   "'E', which may not stand there",
		"spiffe://example.net:1/edge/msk1":                                 "':'",
		"spiffe://u@example.net/edge/msk1":                                 "'@'",
		"spiffe://example.net/Edge/msk1":                                   `kind "Edge"`,
		"spiffe://example.net/admin/msk1":                                  `kind "admin"`,
		"spiffe://example.net/edge/":                                       "no name",
		"spiffe://example.net/edge/..":                                     "no name",
		"spiffe://example.net/edge/-a":                                     "no name",
		"spiffe://example.net/edge/MSK1":                                   "no name",
		"spiffe://example.net/edge/m%73k1":                                 "'%'",
		"spiffe://example.net/edge/msk1?":                                  "'?'",
		"spiffe://example.net/edge/msk1#x":                                 "'#'",
		"spiffe://example.net/edge/msk1\x00":                               `'\x00'`,
		"spiffe://example.net/edge/" + strings.Repeat("a", maxName+1):      "no name",
		"spiffe://" + strings.Repeat("a", maxDomain+1) + "/edge/msk1":      "at most 255",
		"spiffe://example.net/edge/" + strings.Repeat("a", maxURI):         "at most 2048",
		"spiffe://example.net/" + strings.Repeat("k", 1000) + "/" + "msk1": "is not edge, noc or central",
	}
	for text, says := range bad {
		if n, err := ParseName(text); err == nil || !strings.Contains(err.Error(), says) || n != (Name{}) || len(err.Error()) > 400 {
			t.Errorf("%.60q: %v %v", text, n, err)
		}
	}
}

func FuzzParseName(f *testing.F) {
	for _, s := range []string{"spiffe://example.net/edge/msk1", "spiffe://a/noc/b", "spiffe://a/noc/b?c#d", "spiffe://%61/edge/%2e%2e"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		n, err := ParseName(s)
		if err != nil {
			if n != (Name{}) {
				t.Errorf("%q: an error and %v", s, n)
			}
			return
		}
		if n.String() != s || n.uri().String() != s || n.Check() != nil {
			t.Errorf("%q became %v", s, n)
		}
	})
}

func TestRolesCoverThoseBelow(t *testing.T) {
	covers := map[Role][]Role{
		None: nil, "": nil, "king": nil,
		EdgeRole: {EdgeRole},
		Viewer:   {Viewer},
		Operator: {Viewer, Operator},
		Admin:    {Viewer, Operator, Admin},
	}
	for role, below := range covers {
		for _, least := range []Role{EdgeRole, Viewer, Operator, Admin} {
			want := false
			for _, b := range below {
				want = want || b == least
			}
			if got := role.covers(least); got != want {
				t.Errorf("%s covers %s: %v", role, least, got)
			}
		}
	}
	if _, err := ParseRole("edge"); err == nil {
		t.Error("a person is an edge")
	}
	if r, err := ParseRole("operator"); err != nil || r != Operator {
		t.Errorf("%v %v", r, err)
	}
}
