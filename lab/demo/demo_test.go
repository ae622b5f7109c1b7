package demo

import (
	"context"
	"log/slog"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

// GoBGP servers cannot be ended.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m,
		goleak.IgnoreAnyFunction("github.com/osrg/gobgp/v3/pkg/server.(*BgpServer).Serve"),
		goleak.IgnoreAnyFunction("github.com/osrg/gobgp/v3/pkg/server.newTCPListener.func2"))
}

func TestDemoPlaysThrough(t *testing.T) {
	var out strings.Builder
	err := Run(context.Background(), Options{Out: &out, Log: slog.New(slog.NewTextHandler(t.Output(), nil))})
	t.Log("\n" + out.String())
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"transit-a (AS 65001) has  198.51.100.0/24  AS_PATH 57629  next hop 127.0.0.1  communities 57629:101 57629:1:101\n",
		"transit-b (AS 4200000002) has  198.51.100.0/24  AS_PATH 57629 57629 57629  next hop 127.0.0.1",
		"communities 57629:101 65535:0 57629:1:101",
		"transit-b (AS 4200000002) has  (nothing)",
		"withdrawn after",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the story lacks %q", want)
		}
	}
}

func TestTheFleetsDemoPlaysThrough(t *testing.T) {
	var out strings.Builder
	err := RunFleet(context.Background(), Options{Out: &out, Log: slog.New(slog.NewTextHandler(t.Output(), nil))})
	t.Log("\n" + out.String())
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"the centre says: video: 2 of 2 nodes announce.",
		"transit-msk (AS 65001) has  198.51.100.0/24  AS_PATH 57629  next hop 127.0.0.1  communities 57629:101\n",
		"refused: node msk1 has tag 57629:101 already (Moscow)",
		"communities 57629:101 65535:0",
		"is safe",
		"no other node announces video",
		"transit-msk (AS 65001) has  (nothing)",
		"57629:101 is msk1 (Moscow), 57629:102 is spb1 (Saint Petersburg); the audit log verifies",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the story lacks %q", want)
		}
	}
}
