package main

import (
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/catchment-bgp/catchment/lab/netlab"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		netlab.RemoveBinaries()
		os.Exit(code)
	}))
}
