package alerts

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
)

// Dashboards are the files of deploy/grafana that Grafana reads as dashboards.
var Dashboards = []string{"fleet.json", "node.json"}

// Dashboard is what tests look at of one. Its keys are Grafana's.
type Dashboard struct {
	UID           string
	SchemaVersion int
	Templating    struct{ List []Variable }
	Annotations   struct{ List []Annotation }
	Panels        []Panel
}

// Variable is what a reader chooses; $Name stands for it in expressions.
type Variable struct{ Name, Type, Definition, AllValue string }

// Annotation is a mark in all graphs of a dashboard.
type Annotation struct{ Name, Expr, TextFormat string }

// Panel is a graph, a table or a row of them.
type Panel struct {
	ID              int
	Type, Title     string
	Description     string
	Targets         []Target
	FieldConfig     struct{ Defaults struct{ Unit string } }
	Transformations []struct {
		Options struct {
			IndexByName map[string]int
		}
	}
}

// Target is one query of a panel. Its legend names labels as {{label}}; a table has columns in place of one.
type Target struct {
	Expr, LegendFormat string
	Instant            bool
}

// ReadDashboard returns a file of [Dashboards].
func ReadDashboard(file string) (d Dashboard, err error) {
	path, err := Folder("deploy/grafana/" + file)
	if err != nil {
		return d, err
	}
	text, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(text, &d)
	}
	if err != nil {
		return d, fmt.Errorf("alerts: %s: %w", file, err)
	}
	return d, nil
}

// Expand writes an expression as Grafana sends it: with the values of variables by name, as regular expressions, and with
// the rate interval of a source whose timeInterval is that of deploy/grafana/provisioning (5s): four of them.
func Expand(expr string, values map[string]string) string {
	expr = strings.ReplaceAll(expr, "$__rate_interval", "20s")
	for name, value := range values {
		expr = strings.ReplaceAll(expr, "$"+name, value)
	}
	return expr
}
