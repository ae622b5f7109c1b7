package doctorcmd

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	"google.golang.org/grpc"

	edgev1 "github.com/catchment-bgp/catchment/api/edge/v1"
	"github.com/catchment-bgp/catchment/central/identity"
	"github.com/catchment-bgp/catchment/cmd/catchment/internal/centre"
	"github.com/catchment-bgp/catchment/cmd/catchment/internal/cli"
	"github.com/catchment-bgp/catchment/cmd/catchment/internal/exit"
)

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		os.Exit(run(context.Background(), cli.NewEnv(os.Stdin, os.Stdout, os.Stderr), os.Args[1:]))
	}
	goleak.VerifyTestMain(m)
}

// asProgram has the test's binary be the command itself, for the test that needs it in
// a namespace.
const asProgram = "CATCHMENT_DOCTOR_TEST"

func run(ctx context.Context, env *cli.Env, args []string) int {
	client := centre.New()
	root := cli.Group("catchment", "", "", New(env, client))
	client.Flags(root, env.Getenv)
	return cli.Execute(ctx, env, root, append([]string{"doctor"}, args...))
}

// edgeText is a node on loopback; %s is its folder.
const edgeText = `
node: msk1
asn: 57629
router_id: 10.77.0.1
state_dir: %[1]s/state
control: unix://%[1]s/edge.sock
neighbors:
  - {name: a, address: 127.0.0.2, asn: 65001, kind: transit, local_address: 127.0.0.1, password: "${A}"}
  - {name: b, address: 127.0.0.3, asn: 65002, kind: transit, local_address: 127.0.0.1, password: "${B}"}
services:
  - {name: video, prefixes: [198.51.100.0/24], checks: [{name: web, tcp: {address: "127.0.0.1:80"}}]}
`

// folder has the configuration of a node, and its secrets.
func folder(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	put(t, filepath.Join(dir, "edge.yaml"), fmt.Sprintf(edgeText, dir))
	put(t, filepath.Join(dir, "edge.env"), "# secrets\nA='one two'\n; B=no\n")
	if err := os.Mkdir(filepath.Join(dir, "state"), 0o750); err != nil {
		t.Fatal(err)
	}
	return dir
}

func put(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

type result struct {
	code           int
	stdout, stderr string
}

// runDoctor runs the command in this process.
func runDoctor(t *testing.T, args ...string) result {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var stdout, stderr bytes.Buffer
	env := &cli.Env{Stdin: strings.NewReader(""), Stdout: &stdout, Stderr: &stderr, Getenv: func(string) string { return "" }, Now: time.Now}
	return result{run(ctx, env, args), stdout.String(), stderr.String()}
}

// has fails the test unless each line is in what was printed, whatever its columns.
func (r result) has(t *testing.T, lines ...string) {
	t.Helper()
	all := map[string]bool{}
	for line := range strings.Lines(r.stdout) {
		all[strings.Join(strings.Fields(line), " ")] = true
	}
	for _, want := range lines {
		found := false
		for line := range all {
			found = found || strings.HasPrefix(line, want)
		}
		if !found {
			t.Errorf("want %q in (exit %d)\n%s%s", want, r.code, r.stdout, r.stderr)
		}
	}
}

// fakeEdge is a daemon that runs.
type fakeEdge struct {
	edgev1.UnimplementedEdgeServer
	content chan []byte // of the configuration that it was asked to plan for
}

func (*fakeEdge) Status(context.Context, *edgev1.StatusRequest) (*edgev1.StatusResponse, error) {
	return &edgev1.StatusResponse{Node: "msk1", Version: "0.9", Warnings: []string{"odd\x1b[2J"}, Services: []*edgev1.Service{{Name: "video", State: "announced",
		Neighbors: []*edgev1.Neighbor{{Name: "a", Session: "established"}, {Name: "b", Session: "connect", LastError: "refused"}}}}}, nil
}

func (f *fakeEdge) Plan(_ context.Context, r *edgev1.PlanRequest) (*edgev1.PlanResponse, error) {
	f.content <- r.GetConfig().GetContent()
	return &edgev1.PlanResponse{Neighbors: []*edgev1.NeighborPlan{{Name: "a", Session: "kept"}, {Name: "b", Session: "restarted", Announced: []*edgev1.Route{{}}}},
		Differences: []string{"load.target: 0.82 -> 0.7\x1b[2J"}, Compared: true}, nil
}

func serve(t *testing.T, path string) *fakeEdge {
	t.Helper()
	f := &fakeEdge{content: make(chan []byte, 1)}
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	s := grpc.NewServer()
	edgev1.RegisterEdgeServer(s, f)
	served := make(chan error, 1)
	go func() { served <- s.Serve(l) }()
	t.Cleanup(func() {
		s.Stop()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	return f
}

func TestDoctorLooksAtTheFileTheKernelAndTheDaemon(t *testing.T) {
	dir := folder(t)
	f := serve(t, filepath.Join(dir, "edge.sock"))
	if err := os.Chmod(filepath.Join(dir, "edge.sock"), 0o660); err != nil {
		t.Fatal(err)
	}
	r := runDoctor(t, "--config", filepath.Join(dir, "edge.yaml"))
	r.has(t, "ok config "+dir+"/edge.yaml is valid: node msk1, AS57629, 2 neighbors, 1 service", "warn secrets not set here: B",
		"-> write NAME=VALUE into "+dir+"/edge.env", "ok local_address 127.0.0.1 (neighbor a) is on lo", "ok neighbor a: 127.0.0.2 by lo",
		"ok state_dir", "ok socket "+dir+"/edge.sock has mode 0660", "ok capabilities none is needed", "ok file descriptors the daemon may have", "ok daemon node msk1 answers, version 0.9",
		`warn daemon odd\x1b[2J`, "warn session b: the session is not up (connect): refused", "warn reload "+dir+"/edge.yaml differs from what runs: b: session restarted, routes 1 new, 0 other, 0 gone; load.target: 0.82 -> 0.7")
	if got := string(<-f.content); got != fmt.Sprintf(edgeText, dir) {
		t.Errorf("the daemon was asked to plan for %s", got)
	}
}

func TestDoctorTellsOfAFileThatCannotBeUsedAndOfADaemonThatIsAway(t *testing.T) {
	dir := folder(t)
	r := runDoctor(t, "--config", filepath.Join(dir, "edge.yaml"))
	r.has(t, "warn daemon there is no socket "+dir+"/edge.sock")
	put(t, filepath.Join(dir, "edge.yaml"), "node: msk1\nans: 1\n")
	r = runDoctor(t, "--config", filepath.Join(dir, "edge.yaml"))
	r.has(t, "fail config "+dir+"/edge.yaml:", "skip everything else")
	if r.code != exit.Failed || !strings.Contains(r.stderr, "1 check has failed") {
		t.Errorf("exit %d, %s", r.code, r.stderr)
	}
	runDoctor(t, "--config", filepath.Join(dir, "none.yaml")).has(t, "fail config stat "+dir+"/none.yaml: no such file or directory")
}

func TestDoctorPrintsJSONForScripts(t *testing.T) {
	dir := folder(t)
	r := runDoctor(t, "--config", filepath.Join(dir, "edge.yaml"), "-o", "json")
	var out struct {
		Checks                      []struct{ Check, Level, Found, Mend string }
		OK                          int
		Failures, Warnings, Skipped int
	}
	if err := json.Unmarshal([]byte(r.stdout), &out); err != nil {
		t.Fatalf("%v in %s", err, r.stdout)
	}
	if len(out.Checks) < 10 || out.OK+out.Failures+out.Warnings+out.Skipped != len(out.Checks) || (out.Failures > 0) != (r.code == exit.Failed) {
		t.Errorf("exit %d, %+v", r.code, out)
	}
}

func TestDoctorReadsVRPsAndRoutesFromFilesAndValidators(t *testing.T) {
	dir := folder(t)
	var asked string
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		user, pass, _ := r.BasicAuth()
		asked = user + ":" + pass + " " + r.URL.Path
		switch {
		case r.URL.Path == "/vrps.json":
			fmt.Fprint(w, `{"roas": [{"asn": "AS57629", "prefix": "198.51.100.0/24", "maxLength": 24}]}`)
		case strings.HasPrefix(r.URL.Path, "/api/v1/validity/AS57629/198.51.100.0/24"):
			fmt.Fprint(w, `{"validated_route": {"validity": {"state": "invalid", "VRPs": {"matched": [], "unmatched_as": [{"asn": "AS64500", "prefix": "198.51.100.0/22", "max_length": "24"}], "unmatched_length": []}}}}`)
		default:
			http.NotFound(w, r)
		}
	}))
	defer web.Close()
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	if _, err := z.Write([]byte("route: 198.51.100.0/24\norigin: AS57629\n")); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	put(t, filepath.Join(dir, "irr.gz"), packed.String())
	file := filepath.Join(dir, "vrps.csv")
	put(t, file, "ASN,IP Prefix,Max Length,Trust Anchor\nAS57629,198.51.0.0/16,20,ripe\n")
	secret := strings.Replace(web.URL, "http://", "http://me:canary@", 1)
	for _, tt := range []struct{ flag, source, want string }{
		{"--vrps", file, "fail roa 198.51.100.0/24 from AS57629 is invalid: too long by AS57629 198.51.0.0/16-20"},
		{"--vrps", secret + "/vrps.json", "ok roa 198.51.100.0/24 from AS57629 is valid by AS57629 198.51.100.0/24-24"},
		{"--vrps", web.URL + perRoute, "fail roa 198.51.100.0/24 from AS57629 is invalid: another AS by AS64500 198.51.100.0/22-24"},
		{"--vrps", secret + "/none", "warn roa the VRPs cannot be read: 127.0.0.1:"},
		{"--vrps", "http://me:canary@127.0.0.1:1/", "warn roa the VRPs cannot be read: 127.0.0.1:1: dial tcp"},
		{"--vrps", "ftp://me:canary@x/", "warn roa the VRPs cannot be read: only files"},
		{"--vrps", dir + "/none", "warn roa the VRPs cannot be read: open"},
		{"--irr", filepath.Join(dir, "irr.gz"), "ok route object route 198.51.100.0/24 with origin AS57629"},
		{"--irr", filepath.Join(dir, "edge.yaml"), "fail route object 198.51.100.0/24 has none"},
	} {
		r := runDoctor(t, "--config", filepath.Join(dir, "edge.yaml"), tt.flag, tt.source)
		r.has(t, tt.want)
		if strings.Contains(r.stdout+r.stderr, "canary") {
			t.Errorf("%s: a password is printed:\n%s", tt.source, r.stdout)
		}
	}
	if asked != "me:canary /none" {
		t.Errorf("the validator was asked %s", asked)
	}
}

func TestDoctorOfACentre(t *testing.T) {
	dir := t.TempDir()
	ca, err := identity.Init(filepath.Join(dir, "pki"), "example.net", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	cert, key := filepath.Join(dir, "central.pem"), filepath.Join(dir, "central.key")
	if err := ca.Issue(identity.Order{Kind: identity.Central, Name: "c1", Hosts: []string{"central.example.net"}, Life: 72 * time.Hour}, cert, key, time.Now()); err != nil {
		t.Fatal(err)
	}
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { http.NotFound(w, r) }))
	defer web.Close()
	put(t, filepath.Join(dir, "registry.txt"), "remarks: 57629:101 Moscow\nremarks: 57629:101 Berlin\n")
	file := filepath.Join(dir, "central.yaml")
	put(t, file, fmt.Sprintf("data: store\nlisten: %q\nhttp: \"127.0.0.1:1\"\ndomain: example.net\nasn: 57629\ntls: {ca: pki/ca.pem, cert: central.pem, key: central.key}\npki: pki\nregistry: [registry.txt]\n", web.Listener.Addr()))
	r := runDoctor(t, "--centre", "--config", file, "--central", "127.0.0.1:1")
	r.has(t, "ok config "+file+" is valid", "warn certificate "+cert+" ends in 2 days", "ok certificate "+dir+"/pki/ca.pem (a CA)", "warn data "+dir+"/store is not there yet", "ok data",
		"ok listen "+web.Listener.Addr().String()+" answers", "fail listen 127.0.0.1:1 does not answer", "fail health /readyz says nothing", "skip limits the fleet was not asked: cannot reach the centre")
	if err := os.Chmod(key, 0o644); err != nil {
		t.Fatal(err)
	}
	runDoctor(t, "--centre", "--config", file, "--central", "127.0.0.1:1").has(t, "fail key every user can read "+key)
	if r := runDoctor(t, "--centre", "--config", filepath.Join(dir, "none")); r.code != exit.Failed {
		t.Errorf("exit %d", r.code)
	}
	if r := runDoctor(t, "--centre", "--vrps", "x"); r.code != exit.Usage {
		t.Errorf("--centre and --vrps: exit %d", r.code)
	}
}

func TestEnvironmentFilesAreReadAsSystemdDoes(t *testing.T) {
	got := environment([]byte("# A=1\n;B=2\nC = 3 \nD=\"x y\"\nE='z'\n\nF\nG=a=b\nH=\"\n"))
	want := map[string]string{"C": "3", "D": "x y", "E": "z", "G": "a=b", "H": `"`}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%v, want %v", got, want)
	}
}

func TestAllOfAnEnvironmentFileIsSecret(t *testing.T) {
	dir := t.TempDir()
	long := strings.Repeat("x", 70000)
	text := "LONG=" + long + "\nA=one\\\n  two-canary\nB=\"three\nfour=canary\"\nC=\"fi\\\"ve\"\nD=last"
	if err := os.WriteFile(filepath.Join(dir, "edge.env"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "edge.yaml"), []byte("node: a\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	l, err := LoadEdge(filepath.Join(dir, "edge.yaml"), func(string) string { return "" })
	if err == nil {
		t.Fatal("a node without neighbours loads")
	}
	for _, want := range []string{long, "one", "two-canary", "three", "canary", `fi"ve`, "last"} {
		if !slices.Contains(l.Secrets, want) {
			t.Errorf("%.20q is not known to be one", want)
		}
	}
}
