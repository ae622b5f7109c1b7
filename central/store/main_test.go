package store

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

// roleVariable names what a copy of the test binary is to be.
const roleVariable = "CATCHMENT_STORE_TEST_ROLE"

// roles are the programs that tests start as processes of their own.
var roles = map[string]func() error{
	"member": runMember,
	"opener": runOpener,
	"filler": runFiller,
}

func TestMain(m *testing.M) {
	if role, ok := roles[os.Getenv(roleVariable)]; ok {
		if err := role(); err != nil {
			os.Stderr.WriteString(err.Error() + "\n")
			os.Exit(1)
		}
		return
	}
	goleak.VerifyTestMain(m)
}
