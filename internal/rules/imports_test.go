package rules

import (
	"fmt"
	"testing"
)

const (
	ours     = "github.com/catchment-bgp/catchment/"
	gobgp    = "github.com/osrg/gobgp/v3/pkg/server"
	protobuf = "google.golang.org/protobuf/proto"
	grpc     = "google.golang.org/grpc"
	viper    = "github.com/spf13/viper"
)

func TestEachImportRuleCatchesItsBreach(t *testing.T) {
	const (
		pure   = "policy decides and does no I/O"
		proto  = "protobuf and gRPC stop at api, the handlers in edge and central, and cmd/catchment"
		noBGP  = "GoBGP stops at announcer"
		noEtcd = "etcd and its logger stop at central/store"
		config = "viper stops at the config loaders"
		alone  = "one command does not import another"
		center = "central never imports announcer, nor what only an edge node needs"
		below  = "edge stands above all but central, lab and cmd, and imports none of those"
	)
	tests := []struct{ file, imports, rule string }{
		{"community/a.go", ours + "internal/x", "community imports nothing of ours"},
		{"community/a.go", ours + "policy", "community imports nothing of ours"},
		{"community/a_test.go", ours + "policy", "community imports nothing of ours"},
		{"healthcheck/a.go", ours + "community", "healthcheck imports nothing of ours"},
		{"api/a.go", ours + "community", "api imports nothing of ours"},
		{"internal/x/a.go", ours + "community", "internal imports nothing of ours"},
		{"policy/a.go", ours + "announcer", "policy imports only community"},
		{"policy/a.go", ours + "communityx", "policy imports only community"},
		{"policy/ladder/a.go", ours + "healthcheck", "policy imports only community"},
		{"policy/a_test.go", ours + "edge", "policy imports only community"},
		{"policy/a.go", "os", pure},
		{"policy/a.go", "os/exec", pure},
		{"policy/a.go", "net", pure},
		{"policy/a.go", "net/http", pure},
		{"policy/a.go", "log/slog", pure},
		{"policy/a.go", "gopkg.in/yaml.v3", "policy imports only community and the standard library"},
		{"announcer/a.go", ours + "policy", "announcer imports only community"},
		{"announcer/guard/a.go", ours + "edge/config", "announcer imports only community"},
		{"announcer/guard/a.go", ours + "healthcheck", "announcer imports only community"},
		{"announcer/a.go", ours + "lab/netlab", "announcer imports only community"},
		{"maintenance/a.go", ours + "policy", "maintenance imports only community"},
		{"load/a.go", ours + "edge", "load imports only community"},
		{"edge/a.go", ours + "central", below},
		{"edge/a.go", ours + "lab/netlab", below},
		{"edge/config/a.go", ours + "cmd/catchment", below},
		{"central/a.go", ours + "announcer", center},
		{"central/a.go", ours + "edge/config", center},
		{"central/a_test.go", ours + "announcer", center},
		{"lab/a.go", ours + "cmd/catchment", "lab imports everything but cmd"},
		{"cmd/catchment/a.go", ours + "cmd/catchment-edge", alone},
		{"central/a.go", "go.etcd.io/etcd/client/v3", noEtcd},
		{"central/audit/a_test.go", "go.etcd.io/bbolt", noEtcd},
		{"edge/a.go", "go.uber.org/zap/zapcore", noEtcd},
		{"central/a.go", "github.com/coreos/go-oidc/v3/oidc", "OpenID Connect stops at central/idp"},
		{"central/web/a.go", "golang.org/x/oauth2", "OpenID Connect stops at central/idp"},
		{"lab/scenarios/a_test.go", "github.com/chromedp/chromedp", "browsers are driven by lab/webtest alone"},
		{"edge/a.go", gobgp, noBGP},
		{"cmd/catchment/a.go", "github.com/osrg/gobgp/v3/api", noBGP},
		{"edge/a_test.go", gobgp, noBGP},
		{"lab/a.go", gobgp, noBGP},
		{"announcer/a.go", protobuf, proto},
		{"policy/a_test.go", grpc, proto},
		{"healthcheck/a.go", protobuf, proto},
		{"edge/config/a.go", ours + "api/edgev1", proto},
		{"cmd/catchment-edge/a.go", grpc, proto},
		{"lab/a.go", ours + "api/edgev1", proto},
		{"edge/a.go", viper, config},
		{"cmd/catchment/a.go", "github.com/go-viper/mapstructure/v2", config},
		{"lab/a_test.go", viper, config},
		{"pkg/util/a.go", ours + "community", "pkg/util is no part of the layout; give it a place in internal/rules/imports.go"},
	}
	for _, test := range tests {
		t.Run(test.file+" "+test.imports, func(t *testing.T) {
			f := source(t, test.file, fmt.Sprintf("package a\n\nimport _ %q\n", test.imports))
			wantBreaches(t, CheckImports([]File{f}), fmt.Sprintf("%s:3 imports %s: %s", test.file, test.imports, test.rule))
		})
	}
}

func TestAnImportMayBreakTwoRules(t *testing.T) {
	f := source(t, "policy/a.go", "package a\n\nimport (\n\t_ \"fmt\"\n\n\t_ \""+gobgp+"\"\n)\n")
	wantBreaches(t, CheckImports([]File{f}),
		"policy/a.go:6 imports "+gobgp+": GoBGP stops at announcer",
		"policy/a.go:6 imports "+gobgp+": policy imports only community and the standard library")
}

func TestAllowedImportsAreNoBreach(t *testing.T) {
	tests := []struct{ file, imports string }{
		{"community/a.go", "net/netip"},
		{"community/a.go", ours + "community/registry"},
		{"community/a_test.go", "pgregory.net/rapid"},
		{"policy/a.go", ours + "community"},
		{"policy/a.go", "net/netip"},
		{"policy/a.go", "time"},
		{"policy/a_test.go", "os"},
		{"policy/a_test.go", "pgregory.net/rapid"},
		{"announcer/a.go", gobgp},
		{"announcer/guard/a.go", "os"},
		{"announcer/a.go", ours + "announcer/guard"},
		{"announcer/a_test.go", ours + "lab/netlab"},
		{"healthcheck/a_test.go", ours + "internal/poll"},
		{"healthcheck/a.go", grpc + "/health/grpc_health_v1"},
		{"api/edgev1/a.pb.go", protobuf},
		{"edge/a.go", ours + "announcer/host"},
		{"edge/a.go", ours + "healthcheck"},
		{"edge/a.go", ours + "api/edgev1"},
		{"edge/a.go", grpc},
		{"edge/config/a.go", viper},
		{"central/a.go", ours + "policy"},
		{"central/config/a.go", viper},
		{"lab/sim/a.go", ours + "policy"},
		{"lab/scenarios/a_test.go", gobgp},
		{"lab/scenarios/a_test.go", grpc},
		{"cmd/catchment/a.go", ours + "lab"},
		{"cmd/catchment/a.go", ours + "cmd/catchment/table"},
		{"cmd/catchment/a.go", ours + "api/edgev1"},
		{"cmd/catchment-edge/a.go", ours + "edge"},
	}
	for _, test := range tests {
		t.Run(test.file+" "+test.imports, func(t *testing.T) {
			f := source(t, test.file, fmt.Sprintf("package a\n\nimport _ %q\n", test.imports))
			wantBreaches(t, CheckImports([]File{f}))
		})
	}
}
