package config

import "time"

// What a key means when it is left out.
const (
	defaultPort     = 179
	defaultMultihop = 1
	defaultHold     = 9 * time.Second

	defaultInterface = "lo"
	defaultDrain     = 30 * time.Second

	defaultCheckInterval = time.Second
	// A probe may take half of its interval, and no longer than this.
	defaultTimeout = 500 * time.Millisecond
	// While undecided a check probes this often, but never before the probe
	// before it has timed out, and never more seldom than usual.
	defaultFastInterval = 250 * time.Millisecond
	defaultRise         = 2
	defaultFall         = 2
	defaultJitter       = 0.1
	defaultRestartGrace = time.Second

	defaultLeaveHold = 2 * time.Second
	defaultGrace     = 5 * time.Second
	defaultControl   = "/run/catchment/edge.sock"
	defaultStateDir  = "/var/lib/catchment"

	defaultFeedPeriod       = 30 * time.Second
	defaultPrometheusPeriod = 60 * time.Second

	defaultTarget       = 0.82
	defaultLoadInterval = time.Second
	defaultDwellUp      = 120 * time.Second
	defaultDwellDown    = 15 * time.Minute
	defaultDownAfter    = 10 * time.Minute
	defaultDeadTime     = 180 * time.Second

	defaultSmooth          = 5 * time.Second
	defaultResourcesPeriod = time.Second
	defaultSessionsPeriod  = 5 * time.Second
	defaultQualityPeriod   = 30 * time.Second

	defaultLanding     = 1.0
	defaultWeight      = 1.0
	defaultExploration = 2.0
	defaultMargin      = 0.1
)

// defaultProfiles are all makers: a network's routers are not known.
func defaultProfiles() []FlapProfile { return []FlapProfile{FlapCisco, FlapJuniper} }

// defaultReturnAfter is the wait before a service returns, by the hard failures
// of the last hour.
func defaultReturnAfter() []time.Duration {
	return []time.Duration{10 * time.Second, time.Minute, 5 * time.Minute, 30 * time.Minute}
}

const day = 24 * time.Hour
