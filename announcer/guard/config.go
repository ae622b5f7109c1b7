package guard

import (
	"log/slog"
	"net/netip"
	"time"
)

// Config describes one session. Fields without a default named are needed.
type Config struct {
	Name              string // of the neighbour, for errors and logs
	LocalASN, PeerASN uint32
	RouterID          netip.Addr // IPv4
	// Peer is the router's address and port. A link-local IPv6 address needs
	// its zone, the name of an interface.
	Peer netip.AddrPort
	// LocalAddress is bound before dialling; invalid: the kernel chooses.
	LocalAddress netip.Addr
	BindDevice   string // interface (SO_BINDTODEVICE); empty: none
	Password     string // TCP MD5 key (RFC 2385), 80 bytes at most; empty: none
	// TTLSecurity sends with TTL 255 and has the kernel drop what comes from
	// further than Multihop hops (GTSM, RFC 5082).
	TTLSecurity bool
	// Multihop is the number of hops to the router, for the TTL of an eBGP
	// session and for GTSM; zero: 1.
	Multihop uint8
	Role     Role
	// HoldTime is what we propose (RFC 4271, section 4.2): whole seconds, 3 to
	// 65535. A neighbour that finds it too short is asked for 30 s, then 90 s.
	HoldTime time.Duration
	Families []Family
	// ExtendedNextHop offers IPv4 routes with IPv6 next hops (RFC 8950).
	ExtendedNextHop bool

	// Listener accepts connections from the router besides our dialling; nil:
	// we only dial. It needs the guard's address family.
	Listener *Listener
	// Leg is where the BGP server listens, on an IPv4 loopback address. Its
	// own hold time must be at least as long as any that may be negotiated: 90 s
	// or HoldTime, whichever is longer. It sees its neighbour at 127.0.0.1.
	Leg         netip.AddrPort
	LegPassword string // TCP MD5 key of the leg; empty: none

	// Sent gets each UPDATE, header included, after it was written to the
	// router's socket, in the order of the wire. The bytes are valid during
	// the call only. It is called after the Event that enters Established and
	// before the one that leaves it; it must return soon and must not call
	// Close. Nil: not called.
	Sent func(update []byte)
	// Received gets the body of each inbound UPDATE, unparsed. The bytes are
	// valid during the call only. It is called between the same two Events as
	// Sent, and under the same rules. Nil: bodies are dropped unread.
	Received func(updateBody []byte)
	// Event gets each change of state, in order, one at a time, outside of
	// locks. It may call Status and Reset, must not call Close, and must
	// return soon: the session waits for it. Nil: not called.
	Event func(Event)

	// SendHoldTime is how long a write to the router may make no progress (RFC
	// 9687); zero: the greater of 8 minutes and twice the hold time.
	SendHoldTime time.Duration
	// Timers may be left zero.
	Timers Timers
	// Log gets one line per change of state; nil: none are written.
	Log *slog.Logger
}

// Timers are the waits of a guard. A zero field takes its default.
type Timers struct {
	// RetryMin is the wait after the first failed try (1 s). It doubles from
	// failure to failure up to RetryMax (15 s), and starts anew after a session
	// that lasted longer than RetryMax. All waits are jittered: 75 to 100 % of
	// their value.
	RetryMin, RetryMax time.Duration
	// PrefixLimitMin is the wait after the neighbour's Cease/Maximum Number of
	// Prefixes (1 min), doubling up to PrefixLimitMax (10 min).
	PrefixLimitMin, PrefixLimitMax time.Duration
	// Shutdown is the wait after the neighbour's Cease/Administrative Shutdown
	// or Cease/Peer De-configured (30 s).
	Shutdown time.Duration
	// HoldRetry is the wait before the next hold time is proposed (200 ms).
	HoldRetry time.Duration
	// Dial bounds the TCP handshake with the router (10 s).
	Dial time.Duration
	// Open bounds the wait for the router's OPEN (30 s).
	Open time.Duration
	// Collision bounds the wait for the OPEN of the connection that would win
	// a collision while the other one is ready (3 s).
	Collision time.Duration
	// Leg bounds the wait until the leg answers with its OPEN (7 s: a GoBGP
	// that has lost its session refuses connections for 5 s), LegRetry is the
	// wait between two tries (20 ms, doubling to five times that). LegWrite
	// bounds a write to it (5 s).
	Leg, LegRetry, LegWrite time.Duration
	// Linger bounds the wait for the router to close after our NOTIFICATION
	// (1 s).
	Linger time.Duration
}
