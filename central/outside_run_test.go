package central

import (
	"context"
	"log/slog"
	"net"
	"net/netip"
	"strings"
	"testing"

	"github.com/catchment-bgp/catchment/central/config"
)

func TestTheStationIsThatOfTheFile(t *testing.T) {
	none, err := newOutside(nil, slog.New(slog.DiscardHandler))
	if err != nil || none.Station != nil || none.serve(t.Context()) != nil {
		t.Errorf("without bmp: %+v, %v", none, err)
	}
	c := &config.BMP{Listen: "127.0.0.1:0", Grace: config.MinGrace, Views: []config.View{{Name: "rr", Address: netip.MustParseAddr("127.0.0.1"), Sees: []string{"msk1"}, Policy: "post"}}}
	o, err := newOutside(c, slog.New(slog.DiscardHandler))
	if err != nil || len(o.Views) != 1 || o.Views[0].Sees[0] != "msk1" || o.grace() != config.MinGrace {
		t.Fatalf("%+v, %v", o, err)
	}
	c.Listen = o.listener.Addr().String()
	if _, err := newOutside(c, slog.New(slog.DiscardHandler)); err == nil || !strings.HasPrefix(err.Error(), "bmp: listen tcp "+c.Listen) {
		t.Errorf("of an address in use: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- o.serve(ctx) }()
	conn, err := net.Dial("tcp", c.Listen)
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
	_ = conn.Close()
}
