package rules

import (
	"fmt"
	"strconv"
	"strings"
)

// module is the path of this module.
const module = "github.com/catchment-bgp/catchment"

// layer says which of our own packages a part of the tree may import, besides
// those of the same part.
type layer struct {
	part string
	may  []string
	rule string
}

// layers has every folder that may hold Go packages.
var layers = []layer{
	{"community", nil, "community imports nothing of ours"},
	{"healthcheck", nil, "healthcheck imports nothing of ours"},
	{"api", nil, "api imports nothing of ours"},
	{"internal", nil, "internal imports nothing of ours"},
	{"policy", []string{"community"}, "policy imports only community"},
	{"announcer", []string{"community"}, "announcer imports only community"},
	{"maintenance", []string{"community"}, "maintenance imports only community"},
	{"load", []string{"community"}, "load imports only community"},
	{"edge", []string{"community", "policy", "announcer", "maintenance", "healthcheck", "load", "api", "internal"},
		"edge stands above all but central, lab and cmd, and imports none of those"},
	{"central", []string{"community", "policy", "maintenance", "api", "internal"},
		"central never imports announcer, nor what only an edge node needs"},
	{"lab", []string{"community", "policy", "announcer", "maintenance", "healthcheck", "load", "api", "internal", "edge", "central"},
		"lab imports everything but cmd"},
	{"cmd", []string{"community", "policy", "announcer", "maintenance", "healthcheck", "load", "api", "internal", "edge", "central", "lab"},
		"one command does not import another"},
}

// testHelpers are parts that the tests of every part may import.
var testHelpers = []string{"internal", "lab"}

// library says where packages from elsewhere, or a part of ours, may be imported.
type library struct {
	paths   []string // import paths, and all below them
	in      []string // parts where they may be used
	but     []string // parts of those where they may not
	testsIn []string // parts whose tests may use them, too
	rule    string
}

var libraries = []library{
	{
		paths:   []string{"github.com/osrg/gobgp"},
		in:      []string{"announcer"},
		testsIn: []string{"lab"},
		rule:    "GoBGP stops at announcer",
	},
	{
		paths: []string{"google.golang.org/protobuf", "google.golang.org/genproto",
			"github.com/golang/protobuf", "github.com/grpc-ecosystem/grpc-gateway", module + "/api"},
		in:      []string{"api", "edge", "central", "cmd/catchment", "lab/demo", "lab/bench"}, // lab: as clients
		but:     []string{"edge/config", "central/config"},
		testsIn: []string{"lab", "cmd/catchment-central"},
		rule:    "protobuf and gRPC stop at api, the handlers in edge and central, and cmd/catchment",
	},
	{
		paths:   []string{"google.golang.org/grpc"}, // healthcheck: the health protocol's client
		in:      []string{"api", "edge", "central", "cmd/catchment", "healthcheck", "lab/demo", "lab/bench"},
		but:     []string{"edge/config", "central/config"},
		testsIn: []string{"lab", "cmd/catchment-central"},
		rule:    "protobuf and gRPC stop at api, the handlers in edge and central, and cmd/catchment",
	},
	{
		paths: []string{"github.com/spf13/viper", "github.com/go-viper"},
		in:    []string{"edge/config", "central/config"},
		rule:  "viper stops at the config loaders",
	},
	{
		paths:   []string{"go.etcd.io", "go.uber.org/zap"},
		in:      []string{"central/store", "lab/member"},
		testsIn: []string{"lab"},
		rule:    "etcd and its logger stop at central/store",
	},
	{
		paths: []string{"github.com/coreos/go-oidc", "golang.org/x/oauth2"},
		in:    []string{"central/idp"},
		rule:  "OpenID Connect stops at central/idp",
	},
	{
		paths: []string{"github.com/chromedp"},
		in:    []string{"lab/webtest"},
		rule:  "browsers are driven by lab/webtest alone",
	},
}

// impure are packages of the standard library that reach outside the process.
var impure = []string{"os", "net", "syscall", "log", "io/ioutil", "crypto/rand", "plugin", "unsafe"}

// CheckImports returns one line for each import that the rules forbid.
func CheckImports(files []File) []string {
	var breaches []string
	for _, f := range files {
		for _, spec := range f.AST.Imports {
			path, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				continue // the parser has refused it
			}
			for _, rule := range forbids(f, path) {
				breaches = append(breaches, fmt.Sprintf("%s imports %s: %s", f.at(spec.Pos()), path, rule))
			}
		}
	}
	return breaches
}

// forbids returns the rules by which f may not import path.
func forbids(f File, path string) []string {
	var rules []string
	add := func(rule string) { rules = append(rules, rule) }
	if target, ours := strings.CutPrefix(path, module+"/"); ours {
		if rule := forbidsOurs(f, target); rule != "" {
			add(rule)
		}
	}
	for _, lib := range libraries {
		if withinAny(path, lib.paths) && !lib.allowed(f) {
			add(lib.rule)
		}
	}
	if within(f.dir(), "policy") && !f.isTest() {
		switch first, _, _ := strings.Cut(path, "/"); {
		case withinAny(path, impure) && path != "net/netip":
			add("policy decides and does no I/O")
		case strings.Contains(first, ".") && !within(path, module):
			add("policy imports only community and the standard library")
		}
	}
	return rules
}

// forbidsOurs returns the rule by which f may not import our package target, or "".
func forbidsOurs(f File, target string) string {
	for _, l := range layers {
		if !within(f.dir(), l.part) {
			continue
		}
		own := l.part
		if own == "cmd" {
			command, _, _ := strings.Cut(strings.TrimPrefix(f.dir(), "cmd/"), "/")
			own = "cmd/" + command
		}
		if within(target, own) || withinAny(target, l.may) || f.isTest() && withinAny(target, testHelpers) {
			return ""
		}
		return l.rule
	}
	return fmt.Sprintf("%s is no part of the layout; give it a place in internal/rules/imports.go", f.dir())
}

// allowed reports whether f may import the library.
func (l library) allowed(f File) bool {
	if f.isTest() && withinAny(f.dir(), l.testsIn) {
		return true
	}
	return withinAny(f.dir(), l.in) && !withinAny(f.dir(), l.but)
}
