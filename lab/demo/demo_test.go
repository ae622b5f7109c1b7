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
