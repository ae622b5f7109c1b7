package config

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// edited is a file of testdata with edits, read with a password.
func edited(t interface {
	Helper()
	Fatal(...any)
}, password string, edits ...string) *Config {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", "contract.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	text := string(data)
	for i := 0; i+1 < len(edits); i += 2 {
		if !strings.Contains(text, edits[i]) {
			t.Fatal("the file has no ", edits[i])
		}
		text = strings.Replace(text, edits[i], edits[i+1], 1)
	}
	o := testOptions()
	o.Getenv = func(string) (string, bool) { return password, true }
	c, _, err := Parse("edge.yaml", []byte(text), o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestDifferencesNameTheParts(t *testing.T) {
	const ix = `  - {name: ix, capacity: 100Gbps, fast: {interface: eth2}, exact: {prometheus: {url: "http://127.0.0.1:9090", query: "..."}, period: 60s}}` + "\n"
	for name, c := range map[string]struct {
		edits []string
		want  []string
	}{
		"nothing":                       {nil, nil},
		"a default that is written out": {[]string{"    hold_time: 9s\n", ""}, nil},
		"another spelling":              {[]string{"drain: 30s", "drain: 0.5m", "[\"57629:101\", \"57629:1:101\"]", "\n      - 57629:101\n      - '57629:1:101'"}, nil},
		"what no neighbour sees":        {[]string{"target: 0.82", "target: 0.7", "leave_hold: 2s", "leave_hold: 5s"}, []string{"load.target: 0.82 -> 0.7", "leave_hold: 2s -> 5s"}},
		"a check":                       {[]string{"interval: 1s, timeout: 500ms", "interval: 2s, timeout: 500ms"}, []string{"services.video.checks.web.interval: 1s -> 2s"}},
		"a check of another kind":       {[]string{`http: {url: "http://198.51.100.1:8080/health"}`, `tcp: {address: "198.51.100.1:8080"}`}, []string{"services.video.checks.web.http: taken away", "services.video.checks.web.tcp: added"}},
		"a neighbour's rung":            {[]string{"{prepend: 1, sheds: 0.5}", "{prepend: 2, sheds: 0.5}"}, []string{"neighbors.transit-a.ladder: another list"}},
		"a prefix":                      {[]string{`prefixes: [198.51.100.0/24, "2001:db8:100::/48"]`, "prefixes: [198.51.100.0/24]"}, []string{"services.video.prefixes: another list"}},
		"a form":                        {[]string{"require: all", "require: {at_least: 1}"}, []string{"services.video.require: another form"}},
		"a link goes":                   {[]string{ix, ""}, []string{"links.ix: taken away"}},
		"a link comes":                  {[]string{"neighbors:\n", "  - {name: new, interface: eth9, capacity: 1Gbps}\nneighbors:\n"}, []string{"links.new: added"}},
		"an order":                      {[]string{ix, "", "neighbors:\n", ix + "neighbors:\n"}, []string{"links: another order"}},
		"a label":                       {[]string{"    kind: transit  ", "    labels: {circuit: C-1}\n    kind: transit  "}, []string{"neighbors.transit-a.labels: added"}},
		"a centre":                      {[]string{"key: edge.key", "key: other.key"}, []string{"central.tls.key: testdata/edge.key -> testdata/other.key"}},
		"a reserve":                     {[]string{"key: edge.key}", "key: edge.key}, standby: true"}, []string{"central.standby: added"}},
		"a site":                        {[]string{"site: moscow", "site: spb"}, []string{"site: moscow -> spb"}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Differences(edited(t, "s3cret"), edited(t, "s3cret", c.edits...))
			if err != nil || !slices.Equal(got, c.want) {
				t.Errorf("%q, %v; want %q", got, err, c.want)
			}
		})
	}
}

func TestDifferencesOfSecretsNameThePartAlone(t *testing.T) {
	is, want := edited(t, "s3cret"), edited(t, "0ther", `exact: {prometheus: {url: "http://127.0.0.1:9090"`, `exact: {prometheus: {url: "http://noc:hidden@127.0.0.1:9090"`)
	got, err := Differences(is, want)
	if err != nil || !slices.Contains(got, "neighbors.transit-a: a secret, or what is in a file that it names") {
		t.Errorf("%q, %v", got, err)
	}
	for _, text := range []string{"s3cret", "0ther", "hidden"} {
		if strings.Contains(strings.Join(got, "\n"), text) {
			t.Errorf("%q tells %s", got, text)
		}
	}
}

// A token is no password to --print-config, and the texts of a difference go further than that.
func TestDifferencesTellNothingOfTokens(t *testing.T) {
	const feed = "http://127.0.0.1:8000/load.json"
	checks := func(token string) []string {
		return []string{feed, feed + "?token=" + token, `8080/health"}`, `8080/health", headers: {X-Api-Key: ` + token + "}}"}
	}
	got, err := Differences(edited(t, "same", checks("firstone")...), edited(t, "same", checks("secondone")...))
	if err != nil || len(got) != 2 {
		t.Errorf("%q, %v", got, err)
	}
	for _, text := range got {
		if strings.Contains(text, "firstone") || strings.Contains(text, "secondone") || !strings.HasSuffix(text, ": another value, and it may hold a secret") {
			t.Errorf("%q", text)
		}
	}
	if got, err = Differences(edited(t, "same"), edited(t, "same", feed, "http://127.0.0.1:8000/other.json")); err != nil || len(got) != 1 || !strings.HasSuffix(got[0], feed+" -> http://127.0.0.1:8000/other.json") {
		t.Errorf("a URL that hides nothing: %q, %v", got, err)
	}
}

func TestAFileDoesNotDifferFromItself(t *testing.T) {
	for _, name := range []string{"minimal.yaml", "contract.yaml", "edge.yaml", "problems/base.yaml"} {
		one, _ := parseFile(t, name)
		two, _ := parseFile(t, name)
		if got, err := Differences(one, two); err != nil || got != nil {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}

// TestDifferencesGoBothWays: what one way adds, the other takes away, at the same paths.
func TestDifferencesGoBothWays(t *testing.T) {
	edits := [][2]string{{"target: 0.82", "target: 0.7"}, {"hold_time: 9s", "hold_time: 30s"}, {"site: moscow", "site: spb"}, {"drain: 30s", "drain: 1m"},
		{"  - {name: peer, capacity: 10Gbps, feed: {url: \"http://127.0.0.1:8000/load.json\", period: 30s}}\n", ""}, {"{prepend: 3, sheds: 0.8}", "{prepend: 4, sheds: 0.8}"}}
	rapid.Check(t, func(t *rapid.T) {
		var chosen []string
		for _, e := range edits {
			if rapid.Bool().Draw(t, e[0]) {
				chosen = append(chosen, e[:]...)
			}
		}
		is, want := edited(t, "x"), edited(t, "x", chosen...)
		there, err := Differences(is, want)
		if err != nil {
			t.Fatal(err)
		}
		back, err := Differences(want, is)
		if err != nil {
			t.Fatal(err)
		}
		if len(there) != len(chosen)/2 || !slices.Equal(paths(there), paths(back)) {
			t.Errorf("there %q, back %q, of %q", there, back, chosen)
		}
	})
}

func paths(found []string) []string {
	var out []string
	for _, f := range found {
		path, _, _ := strings.Cut(f, ": ")
		out = append(out, path)
	}
	slices.Sort(out)
	return out
}
