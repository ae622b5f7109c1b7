package alerts

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/catchment-bgp/catchment/internal/pages"
)

// tool is a program of Prometheus. Without it a test is skipped, and fails under CI.
func tool(t *testing.T, dir, name string, args ...string) string {
	t.Helper()
	if _, err := exec.LookPath(name); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatalf("no %s (a failure and not a skip, because CI is set): apt-get install prometheus prometheus-alertmanager", name)
		}
		t.Skipf("no %s: apt-get install prometheus prometheus-alertmanager", name)
	}
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
	return string(out)
}

func folder(t *testing.T, path string) string {
	t.Helper()
	dir, err := Folder(path)
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// shipped are the rules as they are shipped.
func shipped(t *testing.T) []Rule {
	t.Helper()
	text, err := Text()
	if err != nil {
		t.Fatal(err)
	}
	rules, err := Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return rules
}

// shippedAlerts are those that are alerts, by name.
func shippedAlerts(t *testing.T) map[string]Rule {
	out := map[string]Rule{}
	for _, r := range shipped(t) {
		if r.Alert == "" {
			continue
		}
		if _, twice := out[r.Alert]; twice {
			t.Errorf("%s is there twice", r.Alert)
		}
		out[r.Alert] = r
	}
	if len(out) < 20 {
		t.Fatalf("there are only %d alerts", len(out))
	}
	return out
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(folder(t, path))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// metrics are the names that the references have, which tests hold to the programs, those of the records, and those
// of Prometheus and of Go's client that are used.
func metrics(t *testing.T) map[string]bool {
	t.Helper()
	out := map[string]bool{"up": true, "ALERTS": true, "process_resident_memory_bytes": true}
	for _, path := range []string{"docs/reference/status.md", "docs/reference/central-metrics.md"} {
		page, err := pages.Read(path)
		if err != nil {
			t.Fatal(err)
		}
		table, err := page.Table("Metrics")
		if err != nil {
			t.Fatal(err)
		}
		for _, row := range table.Rows {
			out[strings.Trim(row[0], "`")] = true
		}
	}
	for _, r := range shipped(t) {
		if r.Record != "" {
			out[r.Record] = true
		}
	}
	return out
}

var (
	seriesRE  = regexp.MustCompile(`\b(catchment[a-z0-9_:]+|process_[a-z_]+|up|ALERTS)\b`)
	stringsRE = regexp.MustCompile(`"(?:[^"\\]|\\.)*"`)
)

// checkNames wants every metric that an expression names to exist.
func checkNames(t *testing.T, known map[string]bool, where, expr string) {
	t.Helper()
	for _, name := range seriesRE.FindAllString(stringsRE.ReplaceAllString(expr, `""`), -1) {
		if !known[name] {
			t.Errorf("%s: nothing has the metric %s: %s", where, name, expr)
		}
	}
}

func TestTheRulesAreSoundAndDoWhatTheirCasesSay(t *testing.T) {
	t.Parallel()
	dir := folder(t, "deploy/prometheus")
	tool(t, dir, "promtool", "check", "rules", "--lint=all", "--lint-fatal", "rules.yml")
	tool(t, dir, "promtool", "test", "rules", "rules_test.yml", "rules_day_test.yml")
}

func TestTheRulesNameMetricsThatExist(t *testing.T) {
	known := metrics(t)
	for _, r := range shipped(t) {
		checkNames(t, known, r.Alert+r.Record, r.Expr)
	}
}

func TestAnAlertSaysWhatAndWhereAndHasARunbook(t *testing.T) {
	severities := []string{"critical", "warning", "info", "none"}
	alerts := shippedAlerts(t)
	commands := read(t, "docs/reference/commands.md")
	verbRE := regexp.MustCompile(`catchment (?:edge|node|fleet|maintenance|audit|central|pki)(?: [a-z][a-z-]*)`)
	for name, r := range alerts {
		path := "docs/runbooks/" + name + ".md"
		if want := "https://github.com/catchment-bgp/catchment/blob/main/" + path; r.Annotations["runbook_url"] != want {
			t.Errorf("%s: the runbook is %q, want %q", name, r.Annotations["runbook_url"], want)
		}
		if !slices.Contains(severities, r.Labels["severity"]) || r.Annotations["summary"] == "" || r.Annotations["description"] == "" || len(r.Annotations) != 3 {
			t.Errorf("%s: labels %v, annotations %v", name, r.Labels, r.Annotations)
		}
		if r.For == "" && r.Labels["severity"] != "none" {
			t.Errorf("%s does not wait", name)
		}
		page, err := pages.Read(path)
		if err != nil {
			t.Error(err)
			continue
		}
		want := []string{name, "What it means", "What to look at", "What to do", "When it goes away"}
		if got := page.Sections(); !slices.Equal(got, want) {
			t.Errorf("%s: the headings are %q, want %q", path, got, want)
			continue
		}
		for _, s := range want[1:] {
			if len(strings.TrimSpace(page.Text(s))) < 10 {
				t.Errorf("%s: %s is empty", path, s)
			}
		}
		text := read(t, path) + r.Annotations["description"]
		for _, verb := range verbRE.FindAllString(text, -1) {
			if !strings.Contains(commands, "## "+verb+"\n") {
				t.Errorf("%s: there is no command %q", name, verb)
			}
		}
	}
	files, err := filepath.Glob(folder(t, "docs/runbooks") + "/*.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if name := strings.TrimSuffix(filepath.Base(f), ".md"); name != "README" && alerts[name].Alert == "" {
			t.Errorf("%s is about no alert", f)
		}
	}
}

func TestTheIndexOfRunbooksHasEachAlert(t *testing.T) {
	page, err := pages.Read("docs/runbooks/README.md")
	if err != nil {
		t.Fatal(err)
	}
	var got, want []string
	for _, table := range page.Tables() {
		for _, row := range table.Rows {
			got = append(got, strings.Join(row, " "))
		}
	}
	for _, r := range shipped(t) {
		if r.Alert != "" {
			wait := r.For
			if wait == "" {
				wait = "0s"
			}
			want = append(want, fmt.Sprintf("[%s](%s.md) %s %s", r.Alert, r.Alert, r.Labels["severity"], wait))
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("%s has\n%s\nwant, in the order of rules.yml,\n%s", page.Path, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestEachAlertHasACaseThatFiresAndIsSilentInTheQuietHour(t *testing.T) {
	alerts := shippedAlerts(t)
	text := read(t, "deploy/prometheus/rules_test.yml") + read(t, "deploy/prometheus/rules_day_test.yml")
	i := strings.Index(text, "name: A quiet hour\n")
	if i < 0 {
		t.Fatal("there is no quiet hour")
	}
	quiet, _, _ := strings.Cut(text[i:], "# The case") // the other file
	for name := range alerts {
		if !regexp.MustCompile(`alertname: ` + name + `\n +exp_alerts:\n +- exp_labels`).MatchString(text) {
			t.Errorf("%s fires in no case of promtool's", name)
		}
		if silent := "alertname: " + name + "}"; name != "CatchmentWatchdog" && (!strings.Contains(text[:i], silent) && !strings.Contains(text[i+len(quiet):], silent) || !strings.Contains(quiet, "eval_time: 1h, "+silent)) {
			t.Errorf("%s is not asked to be silent before its time, and in the quiet hour", name)
		}
	}
}

func TestDashboardsShowMetricsThatExist(t *testing.T) {
	t.Parallel()
	known := metrics(t)
	uids := map[string]bool{}
	for _, file := range Dashboards {
		d, err := ReadDashboard(file)
		if err != nil {
			t.Fatal(err)
		}
		if d.SchemaVersion != 41 || d.UID == "" || uids[d.UID] {
			t.Errorf("%s: schema %d, uid %q", file, d.SchemaVersion, d.UID)
		}
		uids[d.UID] = true
		vars := map[string]bool{}
		for _, v := range d.Templating.List {
			vars[v.Name] = true
			checkNames(t, known, file+" "+v.Name, v.Definition)
		}
		for _, want := range []string{"datasource", "node", "service", "link"} {
			if !vars[want] {
				t.Errorf("%s has no variable %s, only %v", file, want, slices.Sorted(maps.Keys(vars)))
			}
		}
		exprs := panelExprs(t, file, d, known)
		for _, a := range d.Annotations.List {
			checkNames(t, known, file+" annotation", a.Expr)
			exprs = append(exprs, a.Expr)
		}
		parses(t, exprs)
	}
}

// panelExprs checks the panels of a dashboard, and returns their expressions.
func panelExprs(t *testing.T, file string, d Dashboard, known map[string]bool) (exprs []string) {
	t.Helper()
	ids := map[int]bool{}
	for _, p := range d.Panels {
		where := fmt.Sprintf("%s, panel %d %q", file, p.ID, p.Title)
		if p.ID == 0 || ids[p.ID] || p.Title == "" {
			t.Errorf("%s: its id or title is missing or there twice", where)
		}
		ids[p.ID] = true
		if p.Type == "row" {
			continue
		}
		if p.Description == "" || p.FieldConfig.Defaults.Unit == "" || len(p.Targets) == 0 {
			t.Errorf("%s: description %q, unit %q, %d targets", where, p.Description, p.FieldConfig.Defaults.Unit, len(p.Targets))
		}
		for _, target := range p.Targets {
			checkNames(t, known, where, target.Expr)
			exprs = append(exprs, target.Expr)
		}
	}
	return exprs
}

// parses has promtool read expressions, as if they were records.
func parses(t *testing.T, exprs []string) {
	t.Helper()
	var rules strings.Builder
	rules.WriteString("groups:\n  - name: panels\n    rules:\n")
	for i, e := range exprs {
		text, err := json.Marshal(Expand(e, map[string]string{"service": ".*", "node": ".*", "link": ".*"}))
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&rules, "      - {record: \"panel:%d\", expr: %s}\n", i, text)
	}
	dir := t.TempDir()
	if err := os.WriteFile(dir+"/panels.yml", []byte(rules.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	tool(t, dir, "promtool", "check", "rules", "--lint=none", "panels.yml")
}

func TestShortenDividesWaitsAndRanges(t *testing.T) {
	in := "        for: 5m\n        expr: increase(a[30m]) > 3 and b[1d] and c[10s] # for: 5m\n        for: 30s\n        for: 1d\n"
	for by, want := range map[int]string{
		60: "        for: 5s\n        expr: increase(a[30s]) > 3 and b[1440s] and c[5s] # for: 5m\n        for: 1s\n        for: 15s\n",
		10: "        for: 30s\n        expr: increase(a[180s]) > 3 and b[8640s] and c[5s] # for: 5m\n        for: 3s\n        for: 90s\n",
		1:  "        for: 300s\n        expr: increase(a[1800s]) > 3 and b[86400s] and c[10s] # for: 5m\n        for: 30s\n        for: 86400s\n",
	} {
		if got := string(Shorten([]byte(in), by)); got != want {
			t.Errorf("by %d: %s, want %s", by, got, want)
		}
	}
	text, err := Text()
	if err != nil {
		t.Fatal(err)
	}
	if rules, err := Parse(Shorten(text, 60)); err != nil || len(rules) != len(shipped(t)) {
		t.Errorf("%d rules, %v", len(rules), err)
	}
}
