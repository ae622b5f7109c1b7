package healthcmd

import (
	"bytes"
	"encoding/pem"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/catchment-bgp/catchment/cmd/catchment/internal/centre"
	"github.com/catchment-bgp/catchment/cmd/catchment/internal/cli"
	"github.com/catchment-bgp/catchment/cmd/catchment/internal/exit"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func try(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	env := cli.NewEnv(strings.NewReader(""), &out, &errs)
	client := centre.New()
	root := cli.Group("catchment", "", "", New(env, client))
	client.Flags(root, func(string) string { return "" })
	code = cli.Execute(t.Context(), env, root, args)
	return code, out.String(), errs.String()
}

// answering is a server that says what the path asks for.
func answering() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/healthz", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("ok\nand more\n")) })
	mux.HandleFunc("/readyz", func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "the store has\x1b not been read yet", http.StatusServiceUnavailable)
	})
	mux.HandleFunc("/moved", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/healthz", http.StatusFound) })
	return mux
}

func TestTheAnswerDecidesTheExitCode(t *testing.T) {
	s := httptest.NewServer(answering())
	defer s.Close()
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	for _, c := range []struct {
		url            string
		code           int
		stdout, stderr string
	}{
		{s.URL + "/healthz", exit.OK, "ok\n", ""},
		{s.URL + "/readyz", exit.Failed, "", "answers 503 Service Unavailable: the store has"},
		{s.URL + "/moved", exit.Failed, "", "answers 302 Found"},
		{gone.URL + "/healthz", exit.Failed, "", "connection refused"},
		{"127.0.0.1:9179", exit.Usage, "", "is no URL"},
		{"unix:///run/catchment/edge.sock", exit.Usage, "", "is no URL"},
		{"http:///healthz", exit.Usage, "", "is no URL"},
	} {
		code, stdout, stderr := try(t, "health", c.url)
		if code != c.code || stdout != c.stdout || !strings.Contains(stderr, c.stderr) || strings.ContainsRune(stderr, '\x1b') {
			t.Errorf("%s: exit %d, stdout %q, stderr %q; want %d, %q, %q", c.url, code, stdout, stderr, c.code, c.stdout, c.stderr)
		}
	}
	if code, _, stderr := try(t, "health"); code != exit.Usage || !strings.Contains(stderr, "needs one URL") {
		t.Errorf("without a URL: exit %d, stderr %q", code, stderr)
	}
}

func TestAnHTTPSServerIsKnownByItsCA(t *testing.T) {
	s := httptest.NewUnstartedServer(answering())
	s.Config.ErrorLog = log.New(io.Discard, "", 0) // refused handshakes are what is tested
	s.StartTLS()
	defer s.Close()
	ca := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	if code, stdout, stderr := try(t, "--ca", ca, "health", s.URL+"/healthz"); code != exit.OK || stdout != "ok\n" {
		t.Errorf("with its CA: exit %d, stdout %q, stderr %q", code, stdout, stderr)
	}
	if code, _, stderr := try(t, "health", s.URL+"/healthz"); code != exit.Failed || !strings.Contains(stderr, "certificate") {
		t.Errorf("without its CA: exit %d, stderr %q", code, stderr)
	}
	none := filepath.Join(t.TempDir(), "none.pem")
	if err := os.WriteFile(none, []byte("nothing"), 0o600); err != nil {
		t.Fatal(err)
	}
	if code, _, stderr := try(t, "--ca", none, "health", s.URL+"/healthz"); code != exit.Usage || !strings.Contains(stderr, "no certificate") {
		t.Errorf("with a file that is no CA: exit %d, stderr %q", code, stderr)
	}
}
