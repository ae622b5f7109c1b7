package main

import (
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/catchment-bgp/catchment/lab/netlab"
)

// GoBGP servers cannot be ended; package announcer uses them again.
var (
	goBGP         = goleak.IgnoreAnyFunction("github.com/osrg/gobgp/v3/pkg/server.(*BgpServer).Serve")
	goBGPListener = goleak.IgnoreAnyFunction("github.com/osrg/gobgp/v3/pkg/server.newTCPListener.func2")
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goBGP, goBGPListener, goleak.Cleanup(func(code int) {
		netlab.RemoveBinaries()
		os.Exit(code)
	}))
}
