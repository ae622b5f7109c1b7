package identity

import (
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"gopkg.in/yaml.v3"
)

// jsonPaths are the methods of the JSON API, as VERB PATH, by the full name.
func jsonPaths(t *testing.T) map[string]string {
	t.Helper()
	text, err := os.ReadFile("../../api/central/v1/gateway.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		HTTP struct{ Rules []map[string]string }
	}
	if err := yaml.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, rule := range file.HTTP.Rules {
		at := strings.LastIndex(rule["selector"], ".")
		for _, verb := range []string{"get", "post", "patch", "delete", "put"} {
			if path, ok := rule[verb]; ok {
				out["/"+rule["selector"][:at]+"/"+rule["selector"][at+1:]] = strings.ToUpper(verb) + " " + path
			}
		}
	}
	return out
}

// TestEveryJSONPathRefusesWhoMayNotUseIt asks for every path as every kind of caller.
func TestEveryJSONPathRefusesWhoMayNotUseIt(t *testing.T) {
	c := newCentre(t)
	c.reportsAll()
	paths := jsonPaths(t)
	for method := range methods(t) {
		if _, ok := paths[method]; !ok && strings.HasPrefix(method, fleetAt) {
			t.Errorf("%s has no path in gateway.yaml, and so is not tried here", method)
		}
	}
	roles := []Role{None, Viewer, Operator, Admin, EdgeRole}
	for _, role := range roles {
		var files *Files
		refused := WrongRole
		switch role {
		case None:
			refused = NoCertificate
		case EdgeRole:
			files = c.open(t, c.ca, Order{Kind: Edge, Name: "msk1"}, "edge", time.Now())
		default:
			files = c.open(t, c.ca, Order{Kind: NOC, Name: string(role), Role: role}, string(role), time.Now())
		}
		browser := c.browser(t, files)
		for _, method := range slices.Sorted(maps.Keys(paths)) {
			c.later(time.Minute / 2) // the limit on refusals is another test's
			verb, path, _ := strings.Cut(strings.NewReplacer("{", "", "}", "").Replace(paths[method]), " ")
			var body *strings.Reader = strings.NewReader("")
			if verb == "POST" || verb == "PATCH" {
				body = strings.NewReader("{}")
			}
			r, err := http.NewRequestWithContext(t.Context(), verb, c.url+path, body)
			if err != nil {
				t.Fatal(err)
			}
			before := c.counts.count(refused)
			answer, err := browser.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			_ = answer.Body.Close() // its status is what counts
			rule := Rules()[method]
			may := rule.Anyone || role.covers(rule.Least)
			want := http.StatusForbidden
			if role == None {
				want = http.StatusUnauthorized
			}
			last, _ := c.counts.last(refused)
			switch counted := c.counts.count(refused) - before; {
			case may && counted != 0, !may && (counted != 1 || last.Method != method):
				t.Errorf("%s %s as %q: %s, counted %d times, the last of %s", verb, path, role, answer.Status, counted, last.Method)
			case !may && answer.StatusCode != want, may && method != edgesAt+"Join" && (answer.StatusCode == http.StatusForbidden || answer.StatusCode == http.StatusNotFound):
				t.Errorf("%s %s as %q: %s", verb, path, role, answer.Status)
			}
		}
	}
}
