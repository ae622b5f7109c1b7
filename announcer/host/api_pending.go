package host

import (
	"context"
	"errors"
	"log/slog"
	"net/netip"
	"time"
)

var errPending = errors.New("announcer/host: being built")

// VIPs keeps service addresses on interfaces.
type VIPs struct{}

// VIPOptions says where VIPs works.
type VIPOptions struct {
	Namespace Namespace
	// StateDir keeps the addresses that the kernel cannot mark as ours.
	StateDir string
	Log      *slog.Logger // nil: nothing is logged
}

// NewVIPs touches no address yet.
func NewVIPs(o VIPOptions) (*VIPs, error) { return nil, errPending }

// Set makes want, addresses by interface, all that stands of ours. Error: *SetError.
func (v *VIPs) Set(want map[string][]netip.Prefix) error { return errPending }

// Own lists the addresses that carry our mark, sorted.
func (v *VIPs) Own() ([]Address, error) { return nil, errPending }

// Watch says that Set has something to do again. Closed when ctx ends.
func (v *VIPs) Watch(ctx context.Context) (<-chan struct{}, error) { return nil, errPending }

// Close leaves all addresses in place.
func (v *VIPs) Close() error { return nil }

// CheckVIP tells whether p can be a VIP (a single unicast address).
func CheckVIP(p netip.Prefix) error { return errPending }

// WayBack says which families have a way back.
type WayBack struct{ IPv4, IPv6 bool }

// WayBackOptions tunes WatchWayBack; the zero value is fine.
type WayBackOptions struct {
	Namespace Namespace
	Debounce  time.Duration // 10 ms where zero
	FullView  int           // routes of a family that are as good as a default; 100,000 where zero
	Log       *slog.Logger
}

// WatchWayBack calls report at once and then on every change until ctx ends (nil).
func WatchWayBack(ctx context.Context, o WayBackOptions, report func(WayBack)) error {
	return errPending
}

// Default is the next hops of the default routes of a neighbour; invalid: none.
// A link-local next hop carries its interface as its zone.
type Default struct{ IPv4, IPv6 netip.Addr }

// DefaultsOptions says where Defaults works.
type DefaultsOptions struct {
	Namespace Namespace
	Log       *slog.Logger
}

// Defaults keeps default routes learnt by BGP in the kernel.
type Defaults struct{}

// NewDefaults touches no route yet.
func NewDefaults(o DefaultsOptions) (*Defaults, error) { return nil, errPending }

// Set makes want, by neighbour, all that stands of ours. Error: *SetError.
func (d *Defaults) Set(want map[string]Default) error { return errPending }

// Watch says that Set has something to do again. Closed when ctx ends.
func (d *Defaults) Watch(ctx context.Context) (<-chan struct{}, error) { return nil, errPending }

// Close leaves all routes in place.
func (d *Defaults) Close() error { return nil }

// DefaultParams describes the session of an UPDATE.
type DefaultParams struct {
	IPv4, IPv6 bool // families negotiated
	// ExtendedNextHop: RFC 8950 was negotiated.
	ExtendedNextHop bool
	// TwoOctetAS: the neighbour has no four-octet AS numbers (RFC 6793).
	TwoOctetAS bool
	LocalASN   uint32
}

// Change is what an UPDATE does to the default route of one family.
type Change uint8

// The changes. The zero Change is NoChange.
const (
	NoChange Change = iota
	Announced
	Withdrawn
)

// FamilyChange is one family's Change. NextHop is valid with Announced;
// LinkLocal, too, where the neighbour gave one beside it.
type FamilyChange struct {
	Change             Change
	NextHop, LinkLocal netip.Addr
}

// DefaultChange is what an UPDATE says on 0.0.0.0/0 and ::/0.
type DefaultChange struct{ IPv4, IPv6 FamilyChange }

// ParseDefault reads the body of an UPDATE; ok is false if it is malformed.
func ParseDefault(body []byte, p DefaultParams) (change DefaultChange, ok bool) {
	return DefaultChange{}, false
}
