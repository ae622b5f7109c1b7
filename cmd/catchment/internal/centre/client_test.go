package centre

import (
	"context"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"go.uber.org/goleak"

	centralv1 "github.com/catchment-bgp/catchment/api/central/v1"
	"github.com/catchment-bgp/catchment/cmd/catchment/internal/exit"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// clientOf is a client after its flags were read.
func clientOf(t *testing.T, env map[string]string, args ...string) *Client {
	t.Helper()
	c, root := New(), &cobra.Command{}
	c.Flags(root, func(name string) string { return env[name] })
	if err := root.PersistentFlags().Parse(args); err != nil {
		t.Fatal(err)
	}
	return c
}

func TestAFlagIsMoreThanTheEnvironmentAndThatMoreThanTheDefault(t *testing.T) {
	env := map[string]string{"CATCHMENT_CENTRAL": "192.0.2.1:1", "CATCHMENT_CA": "a", "CATCHMENT_CERT": "b", "CATCHMENT_KEY": "c"}
	for _, tc := range []struct {
		env     map[string]string
		args    []string
		address string
		key     string
		named   bool
	}{
		{nil, nil, DefaultAddress, "", false},
		{env, nil, "192.0.2.1:1", "c", true},
		{env, []string{"--central", "192.0.2.2:2", "--key", "d"}, "192.0.2.2:2", "d", true},
		{nil, []string{"--central", DefaultAddress}, DefaultAddress, "", true},
		{nil, []string{"--key", "d"}, DefaultAddress, "d", false},
	} {
		c := clientOf(t, tc.env, tc.args...)
		if c.Address != tc.address || c.Key != tc.key || c.Named() != tc.named {
			t.Errorf("%v %v: %+v, named %v", tc.env, tc.args, c, c.Named())
		}
	}
	if New().Named() {
		t.Error("nobody has named a centre")
	}
}

func TestWhoCannotBeKnownIsNotConnected(t *testing.T) {
	for want, args := range map[string][]string{
		"write HOST:PORT":                   {"--central", "nowhere"},
		"wants to know who calls":           {"--central", "192.0.2.1:7179"},
		"write --ca FILE --cert FILE --key": {"--ca", "a", "--cert", "b"},
		"no such file":                      {"--ca", "none", "--cert", "none", "--key", "none"},
	} {
		if conn, err := clientOf(t, nil, args...).Connect(); conn != nil || exit.Code(err) != exit.Usage || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, want %q", args, err, want)
		}
	}
}

func ask(ctx context.Context, c *Client) error {
	_, err := Call(ctx, c, centralv1.FleetClient.ListNodes, &centralv1.ListNodesRequest{})
	return err
}

func TestACentreThatIsAwayOrSilentIsSaidToBe(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	silent := clientOf(t, nil, "--central", l.Addr().String())
	silent.Timeout = 50 * time.Millisecond
	if err := ask(t.Context(), silent); exit.Code(err) != exit.Failed || !strings.Contains(err.Error(), "did not answer within 50ms") {
		t.Errorf("silent: %v", err)
	}
	stopped, stop := context.WithCancel(t.Context())
	stop()
	if err := ask(stopped, silent); err == nil || !strings.Contains(err.Error(), "interrupted before the centre answered") {
		t.Errorf("interrupted: %v", err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if err := ask(t.Context(), silent); exit.Code(err) != exit.Failed || !strings.Contains(err.Error(), "cannot reach the centre at "+silent.Address) && !strings.Contains(err.Error(), "did not answer") {
		t.Errorf("away: %v", err)
	}
}
