package sim

import (
	"fmt"
	"math"
	"net/netip"
	"regexp"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"

	"gopkg.in/yaml.v3"
)

// Problem is one thing that is wrong with a scenario.
type Problem struct {
	File string
	Line int    // 0: the file as a whole
	Path string // such as sites[0].links[1].capacity
	Text string
}

// String gives one line: "match.yaml:12: sites[0].name: it is empty".
func (p Problem) String() string {
	out := p.File
	if p.Line > 0 {
		out += ":" + strconv.Itoa(p.Line)
	}
	if p.Path != "" {
		out += ": " + p.Path
	}
	return out + ": " + p.Text
}

// Problems is all that is wrong with a scenario.
type Problems []Problem

// Error gives one line for each problem.
func (ps Problems) Error() string {
	lines := make([]string, len(ps))
	for i, p := range ps {
		lines[i] = p.String()
	}
	return strings.Join(lines, "\n")
}

// most bounds how many values are read from one file: aliases of aliases would
// multiply without end.
const most = 200_000

// reader collects problems while a tree is read.
type reader struct {
	file     string
	problems Problems
	values   int
}

func (r *reader) problem(n *yaml.Node, path, format string, args ...any) {
	p := Problem{File: r.file, Path: path, Text: fmt.Sprintf(format, args...)}
	if n != nil {
		p.Line = n.Line
	}
	if len(r.problems) < 100 && !slices.Contains(r.problems, p) {
		r.problems = append(r.problems, p)
	}
}

// fields is a mapping of which each key must be asked for.
type fields struct {
	r     *reader
	path  string
	node  *yaml.Node
	asked []string
}

// resolve follows aliases. It returns nil once too much has been read.
func (r *reader) resolve(n *yaml.Node) *yaml.Node {
	if r.values++; r.values > most {
		if r.values == most+1 {
			r.problem(n, "", "it has over %d values, with aliases: make it smaller", most)
		}
		return nil
	}
	for hops := 0; n != nil && n.Kind == yaml.AliasNode; hops++ {
		if hops > 8 {
			return nil
		}
		n = n.Alias
	}
	return n
}

// mapping opens a mapping; nil and something else than a mapping have no fields.
func (r *reader) mapping(n *yaml.Node, path string) *fields {
	f := &fields{r: r, path: path}
	if n = r.resolve(n); n == nil {
		return f
	}
	if n.Kind != yaml.MappingNode {
		r.problem(n, path, "write key: value pairs here")
		return f
	}
	f.node = n
	seen := map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if key := n.Content[i].Value; seen[key] {
			r.problem(n.Content[i], f.at(key), "it is there twice")
		} else {
			seen[key] = true
		}
	}
	return f
}

func (f *fields) at(key string) string {
	if f.path == "" {
		return key
	}
	return f.path + "." + key
}

// get returns the value of a key, nil if it is not there.
func (f *fields) get(key string) *yaml.Node {
	f.asked = append(f.asked, key)
	if f.node == nil {
		return nil
	}
	for i := 0; i+1 < len(f.node.Content); i += 2 {
		if f.node.Content[i].Value == key {
			return f.r.resolve(f.node.Content[i+1])
		}
	}
	return nil
}

// done reports the keys that nobody asked for.
func (f *fields) done() {
	if f.node == nil {
		return
	}
	for i := 0; i+1 < len(f.node.Content); i += 2 {
		if key := f.node.Content[i]; !slices.Contains(f.asked, key.Value) {
			known := slices.Clone(f.asked)
			sort.Strings(known)
			f.r.problem(key, f.at(key.Value), "there is no such key; there are %s", strings.Join(known, ", "))
		}
	}
}

// scalar returns the text of a key's value, if it has one.
func (f *fields) scalar(key string) (string, *yaml.Node, bool) {
	n := f.get(key)
	if n == nil {
		return "", nil, false
	}
	if n.Kind != yaml.ScalarNode || n.ShortTag() == "!!null" {
		f.r.problem(n, f.at(key), "write one value")
		return "", n, false
	}
	return n.Value, n, true
}

func (f *fields) text(key string, into *string) {
	if v, _, ok := f.scalar(key); ok {
		*into = v
	}
}

func (f *fields) boolean(key string, into *bool) {
	v, n, ok := f.scalar(key)
	switch {
	case !ok:
	case v == "true" || v == "false":
		*into = v == "true"
	default:
		f.r.problem(n, f.at(key), "%q: write true or false", v)
	}
}

func (f *fields) integer(key string, into *int, low, high int) {
	v, n, ok := f.scalar(key)
	if !ok {
		return
	}
	i, err := strconv.Atoi(v)
	if err != nil || i < low || i > high {
		f.r.problem(n, f.at(key), "%q: write a number from %d to %d", v, low, high)
		return
	}
	*into = i
}

// number reads a finite number within bounds.
func (f *fields) number(key string, into *float64, low, high float64) {
	if v, n, ok := f.scalar(key); ok {
		f.r.numberOf(n, f.at(key), v, into, low, high)
	}
}

func (r *reader) numberOf(n *yaml.Node, path, v string, into *float64, low, high float64) {
	x, err := strconv.ParseFloat(v, 64)
	if err != nil || math.IsNaN(x) || x < low || x > high {
		r.problem(n, path, "%q: write a number from %g to %g", v, low, high)
		return
	}
	*into = x
}

// share reads a number from 0 to 1.
func (f *fields) share(key string, into *float64) { f.number(key, into, 0, 1) }

const longest = 7 * day

// duration reads a duration such as 90s or 1h30m.
func (f *fields) duration(key string, into *time.Duration) {
	v, n, ok := f.scalar(key)
	if !ok {
		return
	}
	d, err := time.ParseDuration(v)
	if err != nil || d < 0 || d > longest {
		f.r.problem(n, f.at(key), "%q: write a duration such as 90s or 1h30m, at most %s", v, longest)
		return
	}
	*into = d
}

var rateRE = regexp.MustCompile(`^([0-9]+(?:\.[0-9]+)?) ?([kMGT]bps|sessions)$`)

// rate reads a rate, 10Gbps or 500 sessions, in bit/s.
func (f *fields) rate(key string, bitrate float64, into *float64) {
	v, n, ok := f.scalar(key)
	if !ok {
		return
	}
	m := rateRE.FindStringSubmatch(v)
	if m == nil {
		f.r.problem(n, f.at(key), "%q: write a rate such as 10Gbps or 500 sessions", v)
		return
	}
	x, _ := strconv.ParseFloat(m[1], 64)
	x *= map[string]float64{"kbps": 1e3, "Mbps": 1e6, "Gbps": 1e9, "Tbps": 1e12, "sessions": bitrate}[m[2]]
	if x > 1e16 {
		f.r.problem(n, f.at(key), "%q is more than any link carries", v)
		return
	}
	*into = x
}

// list calls each for the items of a key's sequence.
func (f *fields) list(key string, each func(n *yaml.Node, path string)) {
	if n := f.get(key); n != nil {
		f.r.items(n, f.at(key), each)
	}
}

func (r *reader) items(n *yaml.Node, path string, each func(n *yaml.Node, path string)) {
	if n.Kind != yaml.SequenceNode {
		r.problem(n, path, "write a list here")
		return
	}
	for i, item := range n.Content {
		if item = r.resolve(item); item != nil {
			each(item, fmt.Sprintf("%s[%d]", path, i))
		}
	}
}

// prefix reads a prefix without host bits.
func (r *reader) prefix(n *yaml.Node, path string) (netip.Prefix, bool) {
	p, err := netip.ParsePrefix(n.Value)
	if n.Kind != yaml.ScalarNode || err != nil || p != p.Masked() {
		r.problem(n, path, "%q: write a prefix such as 198.51.100.0/24", n.Value)
		return p, false
	}
	return p, true
}
