package config

import (
	"net/netip"

	"github.com/catchment-bgp/catchment/community"
)

// The raw structs are the shape of the file: what a key is called and which type
// it has. The yaml tag serves reading, viper's decoding and printing alike. A
// pointer tells "left out" from zero.

type rawConfig struct {
	Node        *string       `yaml:"node,omitempty"`
	Site        *string       `yaml:"site,omitempty"`
	ASN         *asn          `yaml:"asn,omitempty"`
	RouterID    *netip.Addr   `yaml:"router_id,omitempty"`
	StateDir    *string       `yaml:"state_dir,omitempty"`
	Control     *string       `yaml:"control,omitempty"`
	Metrics     *string       `yaml:"metrics,omitempty"`
	Central     *rawCentral   `yaml:"central,omitempty"`
	Links       []rawLink     `yaml:"links,omitempty"`
	Neighbors   []rawNeighbor `yaml:"neighbors,omitempty"`
	Services    []rawService  `yaml:"services,omitempty"`
	Load        *rawLoad      `yaml:"load,omitempty"`
	LeaveHold   *duration     `yaml:"leave_hold,omitempty"`
	WayBack     *rawWayBack   `yaml:"way_back,omitempty"`
	ReturnAfter []duration    `yaml:"return_after,omitempty,flow"`
	Registry    []string      `yaml:"registry,omitempty,flow"`
}

type rawCentral struct {
	Address   *string  `yaml:"address,omitempty"`
	Addresses []string `yaml:"addresses,omitempty,flow"`
	TLS       *rawTLS  `yaml:"tls,omitempty"`
	Insecure  *bool    `yaml:"insecure,omitempty"`
	Standby   *bool    `yaml:"standby,omitempty"`
}

type rawTLS struct {
	CA   *string `yaml:"ca,omitempty"`
	Cert *string `yaml:"cert,omitempty"`
	Key  *string `yaml:"key,omitempty"`
}

type rawLink struct {
	Name      *string    `yaml:"name,omitempty"`
	Capacity  *bitRate   `yaml:"capacity,omitempty"`
	Interface *string    `yaml:"interface,omitempty"`
	Feed      *rawFeed   `yaml:"feed,omitempty"`
	Fast      *rawSource `yaml:"fast,omitempty"`
	Exact     *rawSource `yaml:"exact,omitempty"`
	Direction *direction `yaml:"direction,omitempty"`
	Smooth    *duration  `yaml:"smooth,omitempty"`
	Landing   *float64   `yaml:"landing,omitempty"`
}

// rawSource has its period beside the kind: {prometheus: {...}, period: 60s}.
type rawSource struct {
	Interface  *string        `yaml:"interface,omitempty"`
	Feed       *rawFeed       `yaml:"feed,omitempty"`
	Prometheus *rawPrometheus `yaml:"prometheus,omitempty"`
	Period     *duration      `yaml:"period,omitempty"`
	Direction  *direction     `yaml:"direction,omitempty"`
	Delay      *duration      `yaml:"delay,omitempty"`
	Average    *duration      `yaml:"average,omitempty"`
}

type rawFeed struct {
	URL    *string   `yaml:"url,omitempty"`
	Period *duration `yaml:"period,omitempty"`
}

type rawPrometheus struct {
	URL   *string    `yaml:"url,omitempty"`
	Query *multiline `yaml:"query,omitempty"`
}

type rawNeighbor struct {
	Name          *string            `yaml:"name,omitempty"`
	Address       *netip.Addr        `yaml:"address,omitempty"`
	Port          *count             `yaml:"port,omitempty"`
	ASN           *asn               `yaml:"asn,omitempty"`
	Kind          *kindName          `yaml:"kind,omitempty"`
	LocalAddress  *netip.Addr        `yaml:"local_address,omitempty"`
	BindDevice    *string            `yaml:"bind_device,omitempty"`
	Password      *secret            `yaml:"password,omitempty"`
	PasswordFile  *string            `yaml:"password_file,omitempty"`
	TTLSecurity   *bool              `yaml:"ttl_security,omitempty"`
	Multihop      *count             `yaml:"multihop,omitempty"`
	HoldTime      *duration          `yaml:"hold_time,omitempty"`
	Families      []familyName       `yaml:"families,omitempty,flow"`
	Listen        *bool              `yaml:"listen,omitempty"`
	AcceptDefault *bool              `yaml:"accept_default,omitempty"`
	AllowPrepend  *bool              `yaml:"allow_prepend,omitempty"`
	MaxPrefixes   *count             `yaml:"max_prefixes,omitempty"`
	Labels        map[string]literal `yaml:"labels,omitempty"`
	Contact       *string            `yaml:"contact,omitempty"`
	Prepend       *count             `yaml:"prepend,omitempty"`
	MED           *metric            `yaml:"med,omitempty"`
	LocalPref     *metric            `yaml:"local_pref,omitempty"`
	Communities   []community.Value  `yaml:"communities,omitempty,flow"`
	Link          *string            `yaml:"link,omitempty"`
	Weight        *float64           `yaml:"weight,omitempty"`
	EdgesAtASN    []string           `yaml:"edges_at_asn,omitempty,flow"`
	Return        *returnName        `yaml:"return,omitempty"`
	NextHop       *rawNextHop        `yaml:"next_hop,omitempty"`
	Ladder        []rawRung          `yaml:"ladder,omitempty"`
}

type rawNextHop struct {
	IPv4 *netip.Addr `yaml:"ipv4,omitempty"`
	IPv6 *netip.Addr `yaml:"ipv6,omitempty"`
}

type rawRung struct {
	Steer     *rawSteer         `yaml:"steer,omitempty"`
	Community []community.Value `yaml:"community,omitempty,flow"`
	Prepend   *count            `yaml:"prepend,omitempty"`
	MED       *metric           `yaml:"med,omitempty"`
	LocalPref *metric           `yaml:"local_pref,omitempty"`
	GSHUT     *bool             `yaml:"gshut,omitempty"`
	Withdraw  *bool             `yaml:"withdraw,omitempty"`
	Prefixes  []netip.Prefix    `yaml:"prefixes,omitempty,flow"`
	Sheds     *float64          `yaml:"sheds,omitempty"`
	Leaves    *bool             `yaml:"leaves,omitempty"`
}

// rawSteer is a rung in words: {action: prepend, times: 2, towards: AS174}.
type rawSteer struct {
	Action  *verb   `yaml:"action,omitempty"`
	Times   *count  `yaml:"times,omitempty"`
	Value   *metric `yaml:"value,omitempty"`
	Towards *string `yaml:"towards,omitempty"`
}

type rawService struct {
	Name        *string           `yaml:"name,omitempty"`
	Prefixes    []netip.Prefix    `yaml:"prefixes,omitempty,flow"`
	VIPs        []vip             `yaml:"vips,omitempty,flow"`
	Interface   *string           `yaml:"interface,omitempty"`
	Communities []community.Value `yaml:"communities,omitempty,flow"`
	Neighbors   []string          `yaml:"neighbors,omitempty,flow"`
	Require     *rawRequire       `yaml:"require,omitempty"`
	Checks      []rawCheck        `yaml:"checks,omitempty"`
	Drain       *duration         `yaml:"drain,omitempty"`
}

// rawRequire is a word, or a mapping of one key to a number.
type rawRequire struct {
	Word    requireWord `yaml:"-"`
	AtLeast *count      `yaml:"at_least,omitempty"`
	Percent *count      `yaml:"percent,omitempty"`
}

type rawWayBack struct {
	Require *wayBackName `yaml:"require,omitempty"`
	Grace   *duration    `yaml:"grace,omitempty"`
}
