package netlab

import (
	"net/netip"
	"strings"
	"testing"
	"time"
)

// routerLog is a router's process that has logged something.
type routerLog string

func (routerLog) PID() int      { return 42 }
func (l routerLog) Log() string { return string(l) }

func TestConfigErrorsOfBgpdAreFound(t *testing.T) {
	log := "BGP: starting\nBGP: [SHWNK] No such command on config line 5:  set communty 1:2\n"
	if err := configErrors(log); err == nil || !strings.Contains(err.Error(), "line 5:  set communty 1:2") {
		t.Errorf("error %v", err)
	}
	if err := configErrors("BGP: starting\n"); err != nil {
		t.Errorf("error %v", err)
	}
}

func TestSessionsAreCountedInTheLogWhereTheRouterDoesNot(t *testing.T) {
	const bird routerLog = `2026-11-30 08:08:05.100 <TRACE> frr: BGP session established
2026-11-30 08:08:06.100 <TRACE> frr: State changed to down
2026-11-30 08:08:07.100 <TRACE> frr: BGP session established
2026-11-30 08:08:07.161 <TRACE> second: BGP session established
`
	for protocol, want := range map[string]string{"frr": "bird 42, session 2", "second": "bird 42, session 1"} {
		if got, err := birdInstance(protocol, bird); err != nil || got != want {
			t.Errorf("%s: %q, %v, want %q", protocol, got, err, want)
		}
	}
	if _, err := birdInstance("nobody", bird); err == nil || !strings.Contains(err.Error(), "debug protocols") {
		t.Errorf("BIRD: a log without events: %v", err)
	}
	open := routerLog("neighbor 10.77.1.1: state change OpenConfirm -> Established, reason: KEEPALIVE message received\n" +
		"neighbor 10.77.1.2 (x): state change OpenConfirm -> Established, reason: KEEPALIVE message received\n" +
		"neighbor 10.77.1.1: state change Established -> Idle, reason: NOTIFICATION received\n" +
		"neighbor 10.77.1.1: state change OpenConfirm -> Established, reason: KEEPALIVE message received\n")
	if got := openBGPDInstance(netip.MustParseAddr("10.77.1.1"), open); got != "openbgpd 42, session 2" {
		t.Errorf("OpenBGPD: %q", got)
	}
}

func TestCPUTimeSurvivesAnyProcessName(t *testing.T) {
	stat := "12 (a) b (c) R 1 2 3 4 5 6 7 8 9 10 150 50 0 0 20 0"
	if got, err := cpuTime(stat); err != nil || got != 2*time.Second {
		t.Errorf("%v, %v", got, err)
	}
	if _, err := cpuTime("12 (short) R"); err == nil {
		t.Error("a short line is no error")
	}
}
