package nocmd

import (
	"net"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	centralv1 "github.com/catchment-bgp/catchment/api/central/v1"
	"github.com/catchment-bgp/catchment/cmd/catchment/internal/exit"
)

// TestALinkToSignInLeadsToThePage holds the address to what the centre says, and to the
// host of --central where it says nothing.
func TestALinkToSignInLeadsToThePage(t *testing.T) {
	f := &fakeCentre{answers: map[string]proto.Message{}}
	address := f.serve(t)
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		central, url string
		port         uint32
		want         string
	}{
		{address, "https://noc.example.net", 7180, "https://noc.example.net/login#c0de\n"},
		{address, "https://noc.example.net/", 0, "https://noc.example.net/login#c0de\n"},
		{address, "", 7180, "https://127.0.0.1:7180/login#c0de\n"},
		{"localhost:" + port, "", 443, "https://localhost:443/login#c0de\n"},
	} {
		f.answers["CreateWebLogin"] = &centralv1.CreateWebLoginResponse{Code: "c0de", Expires: at(5 * time.Minute), Url: tt.url, Port: tt.port}
		r := try(t, "", "--central", tt.central, "web", "login")
		if r.code != exit.OK || r.stdout != tt.want || !strings.Contains(r.stderr, "once, until 2026-03-01T12:05:00Z (5m0s)") || strings.Contains(r.stderr, "c0de") {
			t.Errorf("url %q, port %d: exit %d, %q %q", tt.url, tt.port, r.code, r.stdout, r.stderr)
		}
	}
	f.answers["CreateWebLogin"] = &centralv1.CreateWebLoginResponse{Code: "c0de"}
	if r := try(t, "", "--central", address, "web", "login"); r.code != exit.Usage || r.stdout != "" || !strings.Contains(r.stderr, "serves no page; write http:") {
		t.Errorf("a centre without a page: exit %d, %q %q", r.code, r.stdout, r.stderr)
	}
}
