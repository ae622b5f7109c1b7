package scenarios

import (
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/catchment-bgp/catchment/lab/alerts"
)

// emptyWhenQuiet are the queries of dashboards that may have no answer while all is well. Each must have one later, when
// all has been broken.
var emptyWhenQuiet = []string{
	"fleet.json: Alerts 1", "fleet.json: Under maintenance 1", "fleet.json: Unseen 1", "fleet.json: Grants 1", "fleet.json: Grants given 1", "fleet.json: Refusals 1",
	"fleet.json: Maintenance", "fleet.json: Frozen", "node.json: Maintenance", "node.json: Rung", "node.json: Change",
}

const (
	// withoutClients has no answer here, where no client holds a connection.
	withoutClients = "node.json: Round trips of clients 1"
	// ofAService is the label of maintenance that here is never of one service.
	ofAService = "service"
)

// drawn is a query of a dashboard: of a panel, or of an annotation.
type drawn struct {
	where  string // fleet.json: Alerts 1
	expr   string
	labels []string // what its legend, text or columns name
}

var legendRE = regexp.MustCompile(`\{\{(\w+)\}\}`)

// readDashboards are the queries of all dashboards, and the variables, which are the same in all.
func (m *monitored) readDashboards() (queries []drawn, variables []alerts.Variable) {
	m.t.Helper()
	for _, file := range alerts.Dashboards {
		d, err := alerts.ReadDashboard(file)
		if err != nil {
			m.t.Fatal(err)
		}
		variables = append(variables, d.Templating.List...)
		add := func(title, expr, text string, columns map[string]int) {
			labels := slices.DeleteFunc(slices.Sorted(maps.Keys(columns)), func(c string) bool { return c == "Value" })
			for _, l := range legendRE.FindAllStringSubmatch(text, -1) {
				labels = append(labels, l[1])
			}
			queries = append(queries, drawn{file + ": " + title, expr, labels})
		}
		for _, p := range d.Panels {
			columns := map[string]int{}
			for _, t := range p.Transformations {
				maps.Copy(columns, t.Options.IndexByName)
			}
			for i, target := range p.Targets {
				add(fmt.Sprintf("%s %d", p.Title, i+1), target.Expr, target.LegendFormat, columns)
			}
		}
		for _, a := range d.Annotations.List {
			add(a.Name, a.Expr, a.TextFormat, nil)
		}
	}
	if len(queries) < 60 {
		m.t.Fatalf("only %d queries", len(queries))
	}
	return queries, variables
}

// choices resolves the variables as Grafana does: all as the dashboard says it, and all values one by one.
func (m *monitored) choices(variables []alerts.Variable) (all, each map[string]string) {
	m.t.Helper()
	all, each = map[string]string{}, map[string]string{}
	for _, v := range variables {
		metric, label, is := strings.Cut(strings.TrimSuffix(strings.TrimPrefix(v.Definition, "label_values("), ")"), ", ")
		if v.Type == "datasource" {
			continue
		}
		var values []string
		if err := m.get("label/"+label+"/values?match[]="+url.QueryEscape(metric), &values); err != nil || !is || len(values) == 0 {
			m.t.Fatalf("$%s is %q (%v)", v.Name, values, err)
		}
		all[v.Name], each[v.Name] = v.AllValue, "("+strings.Join(values, "|")+")"
	}
	return all, each
}

// series asks Prometheus, of a time ("query?") or a span of it ("query_range?...&"), for the labels of all that answers.
func (m *monitored) series(how, expr string) []map[string]string {
	m.t.Helper()
	var answer struct {
		Result []struct{ Metric map[string]string }
	}
	if err := m.get(how+"query="+url.QueryEscape(expr), &answer); err != nil {
		m.t.Errorf("%s: %v", expr, err)
	}
	var out []map[string]string
	for _, s := range answer.Result {
		out = append(out, s.Metric)
	}
	return out
}

// draws has Prometheus answer every query of the dashboards, in a fleet that is well.
func (m *monitored) draws() {
	m.t.Helper()
	queries, variables := m.readDashboards()
	all, each := m.choices(variables)
	for _, q := range queries {
		got := m.series("query?", alerts.Expand(q.expr, all))
		if quiet := slices.Contains(emptyWhenQuiet, q.where); !quiet {
			m.labelled(q, got)
			if len(got) == 0 && q.where != withoutClients {
				m.t.Errorf("%s shows nothing: %s", q.where, q.expr)
			}
		}
		if chosen := m.series("query?", alerts.Expand(q.expr, each)); len(chosen) != len(got) {
			m.t.Errorf("%s has %d series with all values chosen, and %d with All: %s", q.where, len(chosen), len(got), q.expr)
		}
	}
}

// hasDrawn has Prometheus answer those that were empty then, over all that has happened.
func (m *monitored) hasDrawn(since time.Time) {
	m.t.Helper()
	queries, variables := m.readDashboards()
	all, _ := m.choices(variables)
	known := map[string]bool{}
	span := fmt.Sprintf("query_range?start=%d&end=%d&step=1&", since.Unix(), time.Now().Unix())
	for _, q := range queries {
		known[q.where] = true
		if !slices.Contains(emptyWhenQuiet, q.where) {
			continue
		}
		got := m.series(span, alerts.Expand(q.expr, all))
		if len(got) == 0 {
			m.t.Errorf("%s has shown nothing, whatever happened: %s", q.where, q.expr)
		}
		m.labelled(q, got)
	}
	for _, where := range append([]string{withoutClients}, emptyWhenQuiet...) {
		if !known[where] {
			m.t.Errorf("there is no query %q", where)
		}
	}
}

// labelled wants a label that a legend, text or column names to be in some series.
func (m *monitored) labelled(q drawn, got []map[string]string) {
	m.t.Helper()
	for _, label := range q.labels {
		if label == ofAService && strings.Contains(q.expr, ":maintenance:") {
			continue
		}
		if len(got) > 0 && !slices.ContainsFunc(got, func(s map[string]string) bool { return s[label] != "" }) {
			m.t.Errorf("%s: no series has the label %s: %s", q.where, label, q.expr)
		}
	}
}
