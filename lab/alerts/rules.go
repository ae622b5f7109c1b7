// Package alerts reads the alerts of deploy/prometheus/rules.yml and the dashboards of deploy/grafana for tests: those of
// this package, which hold rules, runbooks and dashboards together, and the scenario in which a real Prometheus fires the
// alerts and answers the dashboards.
//
// In goes the text of the files; out come rules, or the same text with shorter times, and panels with their queries. It
// never evaluates one: that is Prometheus's business.
package alerts

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strconv"

	"gopkg.in/yaml.v3"

	"github.com/catchment-bgp/catchment/internal/pages"
)

// Rule is an alert, or a record with Record in place of Alert.
type Rule struct {
	Alert, Record, Expr string
	For                 string
	Labels, Annotations map[string]string
}

// Folder returns a folder of the repository.
func Folder(path string) (string, error) {
	root, err := pages.Root()
	if err != nil {
		return "", fmt.Errorf("alerts: %w", err)
	}
	return filepath.Join(root, path), nil
}

// Text returns deploy/prometheus/rules.yml.
func Text() ([]byte, error) {
	dir, err := Folder("deploy/prometheus")
	if err != nil {
		return nil, err
	}
	return os.ReadFile(filepath.Join(dir, "rules.yml"))
}

// Parse returns the rules of a file, in its order.
func Parse(text []byte) ([]Rule, error) {
	var file struct {
		Groups []struct{ Rules []Rule }
	}
	if err := yaml.Unmarshal(text, &file); err != nil {
		return nil, fmt.Errorf("alerts: %w", err)
	}
	var out []Rule
	for _, g := range file.Groups {
		out = append(out, g.Rules...)
	}
	return out, nil
}

var (
	waitRE  = regexp.MustCompile(`(?m)^( +for: )(\d+)([smhd])$`)
	rangeRE = regexp.MustCompile(`\[(\d+)([smhd])\]`)
)

const (
	// leastRange is what a range is never shortened below: a few scrapes must fit.
	leastRange = 5
	// mostWait is what a wait counts as, in seconds, that is longer: an alert after a day would not fire in a test.
	mostWait = 15 * 60
)

// Shorten divides each wait ("for") and each range of a file by a number, so that a test need not wait: 5m by 60 are 5s.
// Waits are whole seconds, one at least; those of more than 15 minutes are divided as 15 are. Ranges are 5 s at least.
// Thresholds stay, so an alert about a time that the program tells, such as when a certificate ends, is about that time
// still. By 1 nothing is shorter.
func Shorten(text []byte, by int) []byte {
	seconds := func(n, unit []byte, least, most int) string {
		v, _ := strconv.Atoi(string(n)) // digits by the expression
		v *= map[byte]int{'s': 1, 'm': 60, 'h': 3600, 'd': 86400}[unit[0]]
		if by > 1 {
			v = max(least, min(v, most)/by)
		}
		return strconv.Itoa(v) + "s"
	}
	text = waitRE.ReplaceAllFunc(text, func(m []byte) []byte {
		p := waitRE.FindSubmatch(m)
		return []byte(string(p[1]) + seconds(p[2], p[3], 1, mostWait))
	})
	return rangeRE.ReplaceAllFunc(text, func(m []byte) []byte {
		p := rangeRE.FindSubmatch(m)
		return []byte("[" + seconds(p[1], p[2], leastRange, math.MaxInt) + "]")
	})
}
