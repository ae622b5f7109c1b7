package identity

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/reflect/protoreflect"

	centralv1 "github.com/catchment-bgp/catchment/api/central/v1"
	"github.com/catchment-bgp/catchment/internal/pages"
)

const apiPage = "docs/reference/api.md"

// generatedBelow stands on the page above what this test writes.
const generatedBelow = "<!-- What follows is written by go test ./central/identity -run API -update -->\n"

// protoNotes are the comments above or beside the methods, messages and fields of the .proto file: by "Method", "Message" and
// "Message.field".
func protoNotes(t *testing.T) map[string]string {
	t.Helper()
	text, err := os.ReadFile("../../api/central/v1/central.proto")
	if err != nil {
		t.Fatal(err)
	}
	var (
		method  = regexp.MustCompile(`^\s+rpc (\w+)\(`)
		message = regexp.MustCompile(`^(?:message|service) (\w+) \{`)
		field   = regexp.MustCompile(`(?:^\s*|\{ )(?:optional |repeated )?(?:map<[\w, .]+>|[\w.]+) (\w+) = \d+;`)
	)
	out, in, above := map[string]string{}, "", ""
	for line := range strings.Lines(string(text)) {
		code, beside, _ := strings.Cut(strings.TrimRight(line, "\n"), "//")
		beside = strings.TrimSpace(beside)
		if strings.TrimSpace(code) == "" && beside != "" {
			above = strings.TrimSpace(above + " " + beside)
			continue
		}
		note := strings.TrimSpace(above + " " + beside)
		above = ""
		if m := method.FindStringSubmatch(code); m != nil {
			out[m[1]] = note
		}
		if m := message.FindStringSubmatch(code); m != nil {
			in = m[1]
			if note != "" && !field.MatchString(code) {
				out[in] = note
			}
		}
		if m := field.FindStringSubmatch(code); m != nil && note != "" {
			out[in+"."+m[1]] = note
		}
	}
	return out
}

// apiType is how a field is written in JSON.
func apiType(f protoreflect.FieldDescriptor) string {
	name := map[protoreflect.Kind]string{
		protoreflect.StringKind: "text", protoreflect.BoolKind: "boolean", protoreflect.DoubleKind: "number", protoreflect.Int32Kind: "whole number",
		protoreflect.Uint32Kind: "whole number", protoreflect.Uint64Kind: "number, as text", protoreflect.BytesKind: "bytes, in base64",
	}[f.Kind()]
	if f.IsMap() {
		return "mapping to " + apiType(f.MapValue())
	}
	if m := f.Message(); m != nil {
		switch m.Name() {
		case "Timestamp":
			name = "time"
		case "Duration":
			name = "length of time"
		default:
			name = message(m, false)
		}
	}
	if f.IsList() {
		name = "list of " + name
	}
	return name
}

// apiTables is the generated part of the page. written is what people wrote of methods that the .proto file says nothing of.
func apiTables(t *testing.T, written map[string]string) string {
	t.Helper()
	paths, rules, notes := jsonPaths(t), Rules(), protoNotes(t)
	var out strings.Builder
	var order []protoreflect.MessageDescriptor
	var visit func(m protoreflect.MessageDescriptor)
	visit = func(m protoreflect.MessageDescriptor) {
		if m.ParentFile() != centralv1.File_central_v1_central_proto || m.IsMapEntry() || slices.Contains(order, m) {
			return
		}
		order = append(order, m)
		for i := range m.Fields().Len() {
			f := m.Fields().Get(i)
			if f.IsMap() {
				f = f.MapValue()
			}
			if f.Message() != nil {
				visit(f.Message())
			}
		}
	}
	services := centralv1.File_central_v1_central_proto.Services()
	for i := range services.Len() {
		s := services.Get(i)
		fmt.Fprintf(&out, "\n## %s\n\n%s\n\n| Method | JSON | Who | Takes | Answers | Meaning |\n| --- | --- | --- | --- | --- | --- |\n", s.Name(), notes[string(s.Name())])
		for j := range s.Methods().Len() {
			m := s.Methods().Get(j)
			full := fmt.Sprintf("/%s/%s", s.FullName(), m.Name())
			meaning := notes[string(m.Name())]
			if meaning == "" {
				meaning = written[string(m.Name())]
			}
			if meaning == "" {
				t.Errorf("%s: say in %s what it does", m.Name(), apiPage)
			}
			fmt.Fprintf(&out, "| `%s` | %s | %s | %s | %s | %s |\n", m.Name(), quoted(paths[full]), whoOf(rules[full]), message(m.Input(), m.IsStreamingClient()), message(m.Output(), m.IsStreamingServer()), meaning)
			visit(m.Input())
			visit(m.Output())
		}
	}
	for _, m := range order {
		fmt.Fprintf(&out, "\n## %s\n", m.Name())
		if note := notes[string(m.Name())]; note != "" {
			fmt.Fprintf(&out, "\n%s\n", note)
		}
		if m.Fields().Len() == 0 {
			out.WriteString("\nIt has no fields.\n")
			continue
		}
		out.WriteString("\n| Key | Type | Meaning |\n| --- | --- | --- |\n")
		for i := range m.Fields().Len() {
			f := m.Fields().Get(i)
			fmt.Fprintf(&out, "| `%s` | %s | %s |\n", f.Name(), apiType(f), notes[string(m.Name())+"."+string(f.Name())])
		}
	}
	return strings.ReplaceAll(out.String(), "|  |", "| |")
}

func quoted(path string) string {
	if path == "" {
		return ""
	}
	return "`" + path + "`"
}

// message is a link to one, with a word where there are many.
func message(m protoreflect.MessageDescriptor, many bool) string {
	page := ""
	if m.ParentFile() != centralv1.File_central_v1_central_proto {
		page = "status.md" // those of a node's own API
	}
	link := fmt.Sprintf("[%s](%s#%s)", m.Name(), page, strings.ToLower(string(m.Name())))
	if many {
		return "stream of " + link
	}
	return link
}

func TestEachFieldOfTheAPIHasAComment(t *testing.T) {
	notes, messages := protoNotes(t), centralv1.File_central_v1_central_proto.Messages()
	for i := range messages.Len() {
		m := messages.Get(i)
		for j := range m.Fields().Len() {
			if name := string(m.Name()) + "." + string(m.Fields().Get(j).Name()); notes[name] == "" {
				t.Errorf("api/central/v1/central.proto: say beside %s what it is", name)
			}
		}
	}
}

func TestTheReferenceHasTheWholeAPI(t *testing.T) {
	page, err := pages.Read(apiPage)
	if err != nil {
		t.Fatal(err)
	}
	written := map[string]string{}
	for _, table := range page.Tables() {
		for _, row := range table.Rows {
			if len(row) == 6 {
				written[strings.Trim(row[0], "`")] = row[5]
			}
		}
	}
	file := filepath.Join("../..", apiPage)
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	before, after, ok := strings.Cut(string(text), generatedBelow)
	if !ok {
		t.Fatalf("%s has no line %q", apiPage, generatedBelow)
	}
	want := apiTables(t, written)
	if *rewrite {
		if err := os.WriteFile(file, []byte(before+generatedBelow+want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if after != want {
		t.Errorf("%s is not what the API's definition, its paths and its rules say; go test ./central/identity -run API -update writes it anew", apiPage)
	}
	methods := slices.Collect(maps.Keys(Rules()))
	for name := range written {
		if !slices.Contains(methods, fleetAt+name) && !slices.Contains(methods, edgesAt+name) {
			t.Errorf("%s: there is no method %s", apiPage, name)
		}
	}
}
