package supportcmd

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	"google.golang.org/grpc"

	centralv1 "github.com/catchment-bgp/catchment/api/central/v1"
	edgev1 "github.com/catchment-bgp/catchment/api/edge/v1"
	"github.com/catchment-bgp/catchment/cmd/catchment/internal/centre"
	"github.com/catchment-bgp/catchment/cmd/catchment/internal/cli"
	"github.com/catchment-bgp/catchment/cmd/catchment/internal/exit"
	"github.com/catchment-bgp/catchment/cmd/catchment/internal/node"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var now = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// canaries are secrets, each in its own place.
var canaries = []string{
	"canary-inline", "canary-file", "canary-variable", "canary-other-variable", "canary-feed-user", "canary-feed-pass", "canary-feed-query", "canary-prom-pass", "canary-prom-token",
	"canary-check-pass", "canary-check-query", "canary-bearer", "canary-basic", "canary-cookie", "canary-x-key", "canary-arg", "canary-env", "canary-body", "canary-expected", "canary-answer",
	"canary-tls-key", "canary-etcd-pass", "canary-journal-password", "canary-journal-token", "canary-journal-cookie", "canary-journal-url", "canary-journal-pem", "canary-fragment",
	"canary \"quoted\" <&> é",
}

// machine is a folder with a node's and a centre's files, full of canaries.
func machine(t *testing.T, metrics string) string {
	t.Helper()
	dir := t.TempDir()
	put := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	put("a.key", "canary-file\n")
	put("edge.env", "VARIABLE='canary-variable'\nOTHER=canary-other-variable\n")
	put("edge.pem", "not a certificate canary-tls-key")
	put("edge.key", "-----BEGIN PRIVATE KEY-----\ncanary-tls-key\n-----END PRIVATE KEY-----\n")
	put("edge.yaml", fmt.Sprintf(`
node: msk1
asn: 57629
router_id: 10.77.0.1
state_dir: %[1]s
control: unix://%[1]s/edge.sock
metrics: %[2]s
central: {address: "127.0.0.1:1", tls: {ca: edge.pem, cert: edge.pem, key: edge.key}}
links:
  - {name: f, capacity: 1Gbps, feed: {url: "http://canary-feed-user:canary-feed-pass@127.0.0.1:1/load?key=canary-feed-query", period: 30s}}
  - {name: p, capacity: 1Gbps, fast: {interface: lo}, exact: {prometheus: {url: "http://u:canary-prom-pass@127.0.0.1:1/x?token=canary-prom-token", query: up}, period: 60s}}
neighbors:
  - {name: a, address: 127.0.0.2, asn: 65001, kind: transit, local_address: 127.0.0.1, password: canary-inline}
  - {name: b, address: 127.0.0.3, asn: 65002, kind: transit, local_address: 127.0.0.1, password_file: a.key}
  - {name: c, address: 127.0.0.4, asn: 65003, kind: transit, local_address: 127.0.0.1, password: "${VARIABLE}"}
  - {name: d, address: 127.0.0.5, asn: 65004, kind: transit, local_address: 127.0.0.1, password: 'canary "quoted" <&> é'}
services:
  - name: video
    prefixes: [198.51.100.0/24]
    checks:
      - name: web
        http:
          url: "http://me:canary-check-pass@127.0.0.1:1/health?auth=canary-check-query#canary-fragment"
          headers: {Authorization: Bearer canary-bearer, Cookie: "a=b; sid=canary-cookie", X-Key: canary-x-key, Proxy-Authorization: Basic bWU6Y2FuYXJ5LWJhc2lj, Host: video.example}
          body: canary-body
          expect_headers: {X-Answer: canary-expected, Content-Type: ^video/}
      - {name: script, exec: {command: [/usr/bin/check, --password, canary-arg, "1000"], environment: [KEY=canary-env, HOME, DEBUG=true]}}
      - {name: txt, dns: {server: "127.0.0.1:53", name: example.net, type: TXT, answer: canary-answer}}
`, dir, metrics))
	put("central.yaml", "data: store\nlisten: 127.0.0.1:7179\nasn: 57629\nservices: [{name: video, min_announcing: 2}]\n")
	return dir
}

// everything repeats all canaries, as a careless program would.
func everything() string {
	var out strings.Builder
	for _, c := range canaries {
		if !strings.Contains(c, "journal") && c != "canary-tls-key" && c != "canary-etcd-pass" {
			fmt.Fprintf(&out, "%s %q %s; ", c, c, base64.StdEncoding.EncodeToString([]byte(c)))
		}
	}
	return out.String() + "Basic " + base64.StdEncoding.EncodeToString([]byte("me:canary-check-pass"))
}

type fakeEdge struct{ edgev1.UnimplementedEdgeServer }

func (fakeEdge) Status(context.Context, *edgev1.StatusRequest) (*edgev1.StatusResponse, error) {
	return &edgev1.StatusResponse{Node: "msk1", Version: "1.0", Warnings: []string{everything()}, Services: []*edgev1.Service{{Name: "video", State: "announced",
		Checks: []*edgev1.Check{{Name: "web", Up: true, Error: everything()}}, Neighbors: []*edgev1.Neighbor{{Name: "a", Session: "established", LastError: everything(), Asn: 1000}}}}}, nil
}

func (fakeEdge) Why(_ context.Context, r *edgev1.WhyRequest) (*edgev1.WhyResponse, error) {
	if r.GetLimit() < 500 {
		return nil, errors.New("all was not asked for")
	}
	return &edgev1.WhyResponse{Decisions: []*edgev1.Decision{{Service: "video", Detail: everything(), Inputs: []string{everything()}}}}, nil
}

func (fakeEdge) Transcript(context.Context, *edgev1.TranscriptRequest) (*edgev1.TranscriptResponse, error) {
	text, err := json.Marshal(map[string]any{"reason": everything(), "figure": 1000, "on": true})
	return &edgev1.TranscriptResponse{Content: text}, err
}

func (fakeEdge) Plan(context.Context, *edgev1.PlanRequest) (*edgev1.PlanResponse, error) {
	return nil, errors.New(everything())
}

type fakeCentre struct {
	centralv1.UnimplementedFleetServer
}

func (fakeCentre) GetFleet(context.Context, *centralv1.GetFleetRequest) (*centralv1.FleetStatus, error) {
	return &centralv1.FleetStatus{Summary: everything()}, nil
}

func (fakeCentre) ListWindows(context.Context, *centralv1.ListWindowsRequest) (*centralv1.ListWindowsResponse, error) {
	return &centralv1.ListWindowsResponse{Windows: []*centralv1.Window{{Id: "w-1", Reason: everything()}}}, nil
}

func serve(t *testing.T, network, address string, register func(*grpc.Server)) string {
	t.Helper()
	l, err := net.Listen(network, address)
	if err != nil {
		t.Fatal(err)
	}
	s := grpc.NewServer()
	register(s)
	served := make(chan error, 1)
	go func() { served <- s.Serve(l) }()
	t.Cleanup(func() {
		s.Stop()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	return l.Addr().String()
}

// makeBundle runs the command; journal is what the units wrote.
func makeBundle(t *testing.T, journal func() (string, error), args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	env := &cli.Env{Stdin: strings.NewReader(""), Stdout: &out, Stderr: &errs, Getenv: func(string) string { return "" }, Now: func() time.Time { return now }}
	client := centre.New()
	root := cli.Group("catchment", "", "", command(&Options{Env: env, Edge: node.New(), Centre: client, Version: "catchment 1.0\n",
		Journal: func(context.Context, string) (string, error) { return journal() }}))
	client.Flags(root, env.Getenv)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	code = cli.Execute(ctx, env, root, append([]string{"support-bundle"}, args...))
	return code, out.String(), errs.String()
}

// unpacked are the files of a bundle by their name without the folder, in their order.
func unpacked(t *testing.T, file string) (order []string, files map[string]string) {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the mode of the bundle is %v (%v)", info.Mode(), err)
	}
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	files = map[string]string{}
	r := tar.NewReader(z)
	for {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return order, files
		}
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		folder, name, _ := strings.Cut(h.Name, "/")
		if folder != "catchment-support-msk1-20260301T120000Z" && folder != "catchment-support-unknown-20260301T120000Z" || h.Mode != 0o600 || path.Clean(h.Name) != h.Name {
			t.Errorf("%s has mode %o", h.Name, h.Mode)
		}
		order = append(order, name)
		files[name] = string(text)
	}
}

const theJournal = `Mar 01 msk1 catchment-edge[1]: level=WARN msg="odd" password=canary-journal-password url=http://u:canary-journal-url@h/x?api=canary-journal-token
Mar 01 msk1 check[2]: Cookie: sid=canary-journal-cookie; more=canary-journal-cookie
Mar 01 msk1 check[2]: {"api_token": "canary-journal-token"}
-----BEGIN EC PRIVATE KEY-----
canary-journal-pem
`

func TestNoSecretIsInABundle(t *testing.T) {
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, "catchment_up{detail=%q} 1\ncatchment_figure 1000\n", everything())
	}))
	defer web.Close()
	dir := machine(t, web.Listener.Addr().String())
	serve(t, "unix", filepath.Join(dir, "edge.sock"), func(s *grpc.Server) { edgev1.RegisterEdgeServer(s, fakeEdge{}) })
	address := serve(t, "tcp", "127.0.0.1:0", func(s *grpc.Server) { centralv1.RegisterFleetServer(s, fakeCentre{}) })
	file := filepath.Join(dir, "bundle.tar.gz")
	code, stdout, stderr := makeBundle(t, func() (string, error) { return theJournal + everything() + "\n", nil },
		"--config", filepath.Join(dir, "edge.yaml"), "--central-config", filepath.Join(dir, "central.yaml"), "--central", address, "--output", file)
	if code != exit.OK || !strings.Contains(stdout, file+": ") {
		t.Fatalf("exit %d, %s%s", code, stdout, stderr)
	}
	order, files := unpacked(t, file)
	for name, text := range files {
		for _, c := range canaries {
			for _, form := range append(written(c), "canary") {
				if at := strings.Index(text, form); at >= 0 {
					t.Fatalf("%s has %q: ...%s", name, form, text[max(0, at-60):min(len(text), at+40)])
				}
			}
		}
	}
	want := []string{"manifest.json", "centre/fleet.json", "centre/windows.json", "config/central.yaml", "config/edge.yaml", "doctor.txt", "journal/catchment-central.txt", "journal/catchment-edge.txt",
		"kernel/addresses.txt", "kernel/routes.txt", "node/metrics.txt", "node/status.json", "node/transcript.json", "node/why.json", "versions.txt"}
	if !slices.Equal(order, want) {
		t.Errorf("in it are %v, want %v", order, want)
	}
	// What is no secret is there.
	for name, texts := range map[string][]string{
		"config/edge.yaml": {"node: msk1", "url: http://********@127.0.0.1:1/load?key=redacted", "Host: video.example", "Content-Type: ^video/", "Authorization: '********'", "/usr/bin/check", "KEY=********", "password_file: "},
		"node/status.json": {`"session": "established"`, `"asn": 1000`, `"up": true`}, "node/transcript.json": {`"figure":1000`, `"on":true`}, "node/metrics.txt": {"catchment_up{"},
		"journal/catchment-edge.txt": {"msg=\"odd\"", "http://********@h/x"}, "doctor.txt": {"is valid: node msk1"}, "kernel/addresses.txt": {"127.0.0.1/8"}, "versions.txt": {"catchment 1.0\n"}, "config/central.yaml": {"min_announcing: 2"},
	} {
		for _, text := range texts {
			if !strings.Contains(files[name], text) {
				t.Errorf("%s has no %q:\n%.4000s", name, text, files[name])
			}
		}
	}
	for _, name := range []string{"node/status.json", "node/why.json", "node/transcript.json", "centre/fleet.json", "manifest.json"} {
		if !json.Valid([]byte(files[name])) {
			t.Errorf("%s is no JSON any more: %s", name, files[name])
		}
	}
	theManifest(t, files, "keys of certificates", "environment files", filepath.Join(dir, "a.key"))
}

// theManifest has the digest of each file, and names what was left out.
func theManifest(t *testing.T, files map[string]string, missing ...string) {
	t.Helper()
	var m struct {
		Files   []entry
		LeftOut []leftOut `json:"left_out"`
	}
	if err := json.Unmarshal([]byte(files["manifest.json"]), &m); err != nil {
		t.Fatal(err)
	}
	if len(m.Files) != len(files)-1 {
		t.Errorf("the manifest has %d files of %d", len(m.Files), len(files)-1)
	}
	for _, f := range m.Files {
		sum := sha256.Sum256([]byte(files[f.Name]))
		if f.SHA256 != hex.EncodeToString(sum[:]) || f.Bytes != len(files[f.Name]) {
			t.Errorf("the manifest is wrong on %s", f.Name)
		}
	}
	for _, what := range missing {
		if !slices.ContainsFunc(m.LeftOut, func(l leftOut) bool { return l.What == what && l.Why != "" }) {
			t.Errorf("that %s was left out is not said: %+v", what, m.LeftOut)
		}
	}
}

func TestABundleOfWhatIsBrokenSaysWhatIsMissing(t *testing.T) {
	dir := t.TempDir()
	config := filepath.Join(dir, "edge.yaml")
	if err := os.WriteFile(config, []byte("node: msk1\nasn: x\nneighbors: [{name: a, pasword: canary-misspelt, password: {x: canary-nested}, labels: [canary-list]}]\nlinks: [{feed: {url: \"htp://u:canary-url@h\"}}]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "b.tgz")
	code, _, stderr := makeBundle(t, func() (string, error) { return "", errors.New("no journal: canary-misspelt") }, "--config", config, "--central-config", dir+"/none", "--edge", "unix:"+dir+"/none.sock", "--output", file)
	if code != exit.OK {
		t.Fatalf("exit %d: %s", code, stderr)
	}
	_, files := unpacked(t, file)
	for name, text := range files {
		if strings.Contains(text, "canary") {
			t.Errorf("%s has a secret: %s", name, text)
		}
	}
	if !strings.Contains(files["doctor.txt"], "fail  config") {
		t.Errorf("doctor says %s", files["doctor.txt"])
	}
	theManifest(t, files, "config/edge.yaml", "config/central.yaml", "node/status.json", "node/metrics.txt", "centre", "journal/catchment-edge.txt", "journal/catchment-central.txt")
}

func TestAFileThatIsThereIsLeftAlone(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "b.tar.gz")
	if err := os.WriteFile(file, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	none := func() (string, error) { return "", errors.New("none") }
	common := []string{"--config", dir + "/none", "--central-config", dir + "/none", "--edge", "unix:" + dir + "/none.sock", "--output"}
	if code, _, stderr := makeBundle(t, none, append(common, file)...); code != exit.Usage || !strings.Contains(stderr, "is there already") {
		t.Errorf("exit %d: %s", code, stderr)
	}
	if text, err := os.ReadFile(file); err != nil || string(text) != "mine" {
		t.Errorf("the file is now %q (%v)", text, err)
	}
	if code, _, _ := makeBundle(t, none, append(common, dir+"/x.zip")...); code != exit.Usage {
		t.Errorf("a name that says zip: exit %d", code)
	}
	if code, _, _ := makeBundle(t, none, append(common, dir+"/none/x.tar.gz")...); code != exit.Failed {
		t.Errorf("a folder that is not there: exit %d", code)
	}
}

func TestEqualBundlesAreEqualFiles(t *testing.T) {
	var first, second bytes.Buffer
	for i, w := range []*bytes.Buffer{&first, &second} {
		b := &bundle{at: now}
		b.put([]string{"a", "b"}[i], "text of "+[]string{"a", "b"}[i])
		b.put([]string{"b", "a"}[i], "text of "+[]string{"b", "a"}[i])
		b.put("long", strings.Repeat("x", mostText+1))
		b.leave("x", "y")
		if err := b.write(w, "folder"); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(first.Bytes(), second.Bytes()) || first.Len() == 0 {
		t.Error("they differ")
	}
}

type fullDisk struct{ left int }

func (f *fullDisk) Write(p []byte) (int, error) {
	if f.left -= len(p); f.left < 0 {
		return 0, errors.New("full")
	}
	return len(p), nil
}

func TestAFullDiskIsAnError(t *testing.T) {
	for left := range 30 {
		b := &bundle{at: now}
		b.put("a", "text")
		if err := b.write(&fullDisk{left}, "folder"); err == nil {
			t.Fatalf("with room for %d octets there is no error", left)
		}
	}
}
