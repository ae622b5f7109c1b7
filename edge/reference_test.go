package edge

import (
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/catchment-bgp/catchment/announcer/host"
	edgev1 "github.com/catchment-bgp/catchment/api/edge/v1"
	"github.com/catchment-bgp/catchment/internal/pages"
	"github.com/catchment-bgp/catchment/policy"
)

const statusPage = "docs/reference/status.md"

func readStatusPage(t *testing.T) pages.Page {
	t.Helper()
	page, err := pages.Read(statusPage)
	if err != nil {
		t.Fatal(err)
	}
	return page
}

// answers are the messages that the local API answers with, and those in them.
func answers() []protoreflect.MessageDescriptor {
	var out []protoreflect.MessageDescriptor
	var visit func(m protoreflect.MessageDescriptor)
	visit = func(m protoreflect.MessageDescriptor) {
		if m.FullName() == timestampName || slices.Contains(out, m) {
			return
		}
		out = append(out, m)
		for i := range m.Fields().Len() {
			if below := m.Fields().Get(i).Message(); below != nil {
				visit(below)
			}
		}
	}
	methods := edgev1.File_edge_v1_edge_proto.Services().Get(0).Methods()
	for i := range methods.Len() {
		visit(methods.Get(i).Output())
	}
	return out
}

const timestampName = "google.protobuf.Timestamp"

// keyType is what the reference says of the type of a field.
func keyType(f protoreflect.FieldDescriptor) string {
	plural := map[string]string{"text": "texts"}
	names := map[protoreflect.Kind]string{
		protoreflect.StringKind: "text", protoreflect.BoolKind: "boolean", protoreflect.DoubleKind: "number",
		protoreflect.Int32Kind: "whole number", protoreflect.Uint32Kind: "whole number", protoreflect.BytesKind: "bytes",
	}
	name := names[f.Kind()]
	switch {
	case f.Message() != nil && f.Message().FullName() == timestampName:
		name = "time"
	case f.Message() != nil:
		name = fmt.Sprintf("[%s](#%s)", f.Message().Name(), strings.ToLower(string(f.Message().Name())))
	}
	if f.IsList() {
		if plural[name] != "" {
			name = plural[name]
		}
		return "list of " + name
	}
	if f.HasPresence() {
		name += " or null"
	}
	return name
}

// protoComments are the comments above or beside the fields of the .proto file, by
// message and field.
func protoComments(t *testing.T) map[string]string {
	t.Helper()
	text, err := os.ReadFile("../api/edge/v1/edge.proto")
	if err != nil {
		t.Fatal(err)
	}
	message := regexp.MustCompile(`^message (\w+) \{`)
	field := regexp.MustCompile(`^\s+(?:optional |repeated )?[\w.]+ (\w+) = \d+;\s*(?:// (.*))?$`)
	out, in, above := map[string]string{}, "", ""
	for line := range strings.Lines(string(text)) {
		line = strings.TrimRight(line, "\n")
		if m := message.FindStringSubmatch(line); m != nil {
			in = m[1]
		}
		if text, ok := strings.CutPrefix(strings.TrimSpace(line), "// "); ok {
			above = strings.TrimSpace(above + " " + text)
			continue
		}
		if m := field.FindStringSubmatch(line); m != nil {
			out[in+"."+m[1]] = strings.TrimSpace(above + " " + m[2])
		}
		above = ""
	}
	return out
}

func TestEachFieldOfTheNodesAPIHasAComment(t *testing.T) {
	comments, messages := protoComments(t), edgev1.File_edge_v1_edge_proto.Messages()
	for i := range messages.Len() {
		m := messages.Get(i)
		for j := range m.Fields().Len() {
			if name := string(m.Name()) + "." + string(m.Fields().Get(j).Name()); comments[name] == "" {
				t.Errorf("api/edge/v1/edge.proto: say beside %s what it is", name)
			}
		}
	}
}

func TestTheReferenceHasEveryKeyOfTheAnswers(t *testing.T) {
	page, comments := readStatusPage(t), protoComments(t)
	if len(comments) < 20 {
		t.Fatalf("the .proto file has %d comments", len(comments))
	}
	known := map[string]bool{}
	for _, m := range answers() {
		name := string(m.Name())
		known[name] = true
		table, err := page.Table(name)
		if err != nil {
			t.Error(err)
			continue
		}
		rows := map[string][]string{}
		for _, row := range table.Rows {
			rows[strings.Trim(row[0], "`")] = row
		}
		for i := range m.Fields().Len() {
			f := m.Fields().Get(i)
			key := string(f.Name())
			row := rows[key]
			delete(rows, key)
			switch comment := comments[name+"."+key]; {
			case row == nil:
				t.Errorf("%s, section %s: there is no row for %s (%s): %s", page.Path, name, key, keyType(f), comment)
			case row[1] != keyType(f):
				t.Errorf("%s, section %s: the type of %s is %q, want %q", page.Path, name, key, row[1], keyType(f))
			case row[2] == "" || !strings.Contains(row[2], comment):
				t.Errorf("%s, section %s: what %s means is %q, and lacks what the .proto file says: %q", page.Path, name, key, row[2], comment)
			}
		}
		for key := range rows {
			t.Errorf("%s, section %s: the answer has no %s", page.Path, name, key)
		}
	}
	for _, table := range page.Tables() {
		if table.Header[0] == "Key" && !known[table.Section] {
			t.Errorf("%s: section %s is about no answer", page.Path, table.Section)
		}
	}
}

// family is a metric as a scrape shows it.
type family struct {
	kind, help string
	labels     []string
}

var (
	metaRE   = regexp.MustCompile(`^# (HELP|TYPE) (\w+) (.*)$`)
	sampleRE = regexp.MustCompile(`^(\w+)(?:\{(.*)\})? \S+$`)
	labelRE  = regexp.MustCompile(`(\w+)="(?:[^"\\]|\\.)*"`)
)

// families reads a scrape.
func families(text string) map[string]*family {
	out := map[string]*family{}
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		if m := metaRE.FindStringSubmatch(line); m != nil {
			if out[m[2]] == nil {
				out[m[2]] = &family{}
			}
			if m[1] == "HELP" {
				out[m[2]].help = m[3]
			} else {
				out[m[2]].kind = m[3]
			}
			continue
		}
		if m := sampleRE.FindStringSubmatch(line); m != nil && out[m[1]] != nil {
			var labels []string
			for _, l := range labelRE.FindAllStringSubmatch(m[2], -1) {
				labels = append(labels, l[1])
			}
			slices.Sort(labels)
			out[m[1]].labels = labels
		}
	}
	return out
}

// metricsText starts a node with a centre, a drain that has an end and a certificate, and reads its /metrics.
func metricsText(t *testing.T) string {
	t.Helper()
	w := newWorld(t)
	w.sampler.sources = someSources()
	c := newCentreFake()
	c.grants = true
	defer c.kill()
	w.govern(c, measured...)
	defer w.stop()
	w.wayBack <- host.WayBack{IPv4: true, IPv6: true}
	w.measureAll()
	eventually(t, "the figures are taken in", func() bool { return len(w.snapshot().Load.Samples) > 0 })
	eventually(t, "the centre is heard", func() bool { return !w.snapshot().Centre.Heard.IsZero() })
	if _, _, err := w.node.SetOverride(t.Context(), at("ix"), Word{Verb: policy.Drain, For: time.Hour, Reason: "a test"}); err != nil {
		t.Fatal(err)
	}
	link := w.node.centre.link
	link.mu.Lock()
	link.ends = ends{node: time.Now().Add(time.Hour), ca: time.Now().Add(24 * time.Hour)} // plain text has none
	link.mu.Unlock()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- w.node.ServeMetrics(t.Context(), l) }()
	client := &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := client.Get("http://" + l.Addr().String() + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		t.Fatalf("%d, %v: %s", response.StatusCode, err, body)
	}
	l.Close()
	<-served
	return string(body)
}

func TestTheReferenceHasTheMetricsOfAScrape(t *testing.T) {
	page := readStatusPage(t)
	table, err := page.Table("Metrics")
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string][]string{}
	for _, row := range table.Rows {
		rows[strings.Trim(row[0], "`")] = row
	}
	found := families(metricsText(t))
	for _, name := range slices.Sorted(maps.Keys(found)) {
		if !strings.HasPrefix(name, "catchment_") {
			continue
		}
		f := found[name]
		labels := ""
		if len(f.labels) > 0 {
			labels = "`" + strings.Join(f.labels, "`, `") + "`"
		}
		want := []string{"`" + name + "`", f.kind, labels, f.help}
		if !slices.Equal(rows[name], want) {
			t.Errorf("%s: the row of %s is %q, want %q", page.Path, name, rows[name], want)
		}
		delete(rows, name)
	}
	for name := range rows {
		t.Errorf("%s: no scrape has %s", page.Path, name)
	}
}
