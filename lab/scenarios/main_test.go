package scenarios

import (
	"flag"
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/catchment-bgp/catchment/lab/netlab"
)

// atOnce is how many labs run side by side: they mostly wait, but a machine with two processors starts no more routers
// in time.
const atOnce = "4"

func TestMain(m *testing.M) {
	flag.Parse()
	asked := false
	flag.Visit(func(f *flag.Flag) { asked = asked || f.Name == "test.parallel" })
	if !asked {
		if err := flag.Set("test.parallel", atOnce); err != nil {
			panic(err)
		}
	}
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		netlab.RemoveBinaries()
		os.Exit(code)
	}))
}
