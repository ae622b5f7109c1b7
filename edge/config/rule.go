package config

import (
	"errors"
	"fmt"
	"net/netip"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/catchment-bgp/catchment/community"
)

// The scalar types of the file that are not Go's own.
type (
	asn         uint32
	metric      uint32
	count       int
	duration    time.Duration
	bitRate     uint64
	vip         struct{ netip.Prefix }
	secret      string // ${VAR} not yet expanded
	literal     string // any scalar, as its text stands
	multiline   string // text that may hold line breaks
	kindName    string
	familyName  string
	returnName  string
	verb        string
	requireWord string
	scope       string
	wayBackName string
	transport   string
	direction   string
)

// A rule says how the text of a scalar becomes a value of one type. The walk
// uses it to report what is wrong, viper's decode hook to decode.
type rule struct {
	// want names what is expected, for when something else stands there.
	want string
	// form limits how YAML may see the scalar.
	form form
	// parse gets the text; its error repeats the text and says what to write.
	parse func(string) (any, error)
}

// form is what YAML must take a scalar for.
type form uint8

const (
	anyForm    form = iota
	textForm        // not a number or boolean
	numberForm      // a number without quotes
	boolForm        // true or false without quotes
)

// rules has every type at which the walk ends.
var rules = map[reflect.Type]rule{
	reflect.TypeFor[string]():          {"a text", textForm, oneLine},
	reflect.TypeFor[multiline]():       {"a text", textForm, func(s string) (any, error) { return multiline(s), nil }},
	reflect.TypeFor[literal]():         {"a text", anyForm, parseLiteral},
	reflect.TypeFor[secret]():          {"a text", anyForm, func(s string) (any, error) { return secret(s), nil }},
	reflect.TypeFor[bool]():            {"a boolean", boolForm, parseBool},
	reflect.TypeFor[float64]():         {"a number", numberForm, parseFloat},
	reflect.TypeFor[count]():           {"a whole number", numberForm, parseCount},
	reflect.TypeFor[metric]():          {"a whole number", numberForm, parseMetric},
	reflect.TypeFor[asn]():             {"an AS number", numberForm, parseASN},
	reflect.TypeFor[duration]():        {"a duration such as 9s", anyForm, parseDuration},
	reflect.TypeFor[bitRate]():         {"a bit rate such as 10Gbps", anyForm, parseBitRate},
	reflect.TypeFor[netip.Addr]():      {"an IP address", anyForm, parseAddr},
	reflect.TypeFor[netip.Prefix]():    {"a prefix", anyForm, parsePrefix},
	reflect.TypeFor[vip]():             {"an address such as 198.51.100.1/32", anyForm, parseVIP},
	reflect.TypeFor[community.Value](): {"a community", anyForm, parseCommunity},
	reflect.TypeFor[kindName]():        words[kindName]("a kind of neighbour", "transit", "peer", "ix", "rs", "internal"),
	reflect.TypeFor[familyName]():      words[familyName]("a family", "ipv4", "ipv6"),
	reflect.TypeFor[verb]():            words[verb]("an action", steerable...),
	reflect.TypeFor[returnName]():      words[returnName]("a way of returning", "symmetric", "routed"),
	reflect.TypeFor[scope]():           words[scope]("a scope", "hard", "soft"),
	reflect.TypeFor[wayBackName]():     words[wayBackName]("a way back", "default", "none"),
	reflect.TypeFor[transport]():       words[transport]("a transport", "udp", "tcp"),
	reflect.TypeFor[LoadMode]():        words("a load mode", LoadOff, LoadThreshold, LoadCurve, LoadDamped, LoadPI),
	reflect.TypeFor[direction]():       words[direction]("a direction", "busier", "tx", "rx"),
	reflect.TypeFor[FlapProfile]():     words("a flap profile", FlapCisco, FlapJuniper),
	reflect.TypeFor[rawRequire]():      {"all, any, {at_least: N} or {percent: N}", anyForm, parseRequire},
}

// words is the rule of a type that has a few values.
func words[T ~string](what string, values ...T) rule {
	names := make([]string, len(values))
	for i, v := range values {
		names[i] = string(v)
	}
	last := len(names) - 1
	list := strings.Join(names[:last], ", ") + " or " + names[last]
	return rule{want: list, form: anyForm, parse: func(s string) (any, error) {
		if !slices.Contains(names, s) {
			return nil, fmt.Errorf("%s is not %s; write %s", show(s), what, list)
		}
		return T(s), nil
	}}
}

func oneLine(s string) (any, error) {
	if strings.ContainsFunc(s, unicode.IsControl) {
		return nil, fmt.Errorf("%s holds a control character; write plain text", show(s))
	}
	return s, nil
}

func parseLiteral(s string) (any, error) {
	if strings.ContainsFunc(s, unicode.IsControl) {
		return nil, errors.New("the text holds a control character; write plain text")
	}
	return literal(s), nil
}

func parseBool(s string) (any, error) {
	switch s {
	case "true":
		return true, nil
	case "false":
		return false, nil
	}
	switch strings.ToLower(s) {
	case "yes", "y", "on", "true", "1":
		return nil, fmt.Errorf("%s is not a boolean; write true", s)
	case "no", "n", "off", "false", "0":
		return nil, fmt.Errorf("%s is not a boolean; write false", s)
	}
	return nil, fmt.Errorf("%s is not a boolean; write true or false", show(s))
}

var (
	wholeRE   = regexp.MustCompile(`^-?(0|[1-9][0-9]*)$`)
	floatRE   = regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]{1,3})?$`)
	decimalRE = regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?$`)
	asdotRE   = regexp.MustCompile(`^([0-9]{1,5})\.([0-9]{1,5})$`)
)

func parseFloat(s string) (any, error) {
	if !floatRE.MatchString(s) {
		return nil, fmt.Errorf("%s is not a plain number; write for example 0.5", show(s))
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return nil, fmt.Errorf("%s is out of range; write for example 0.5", show(s))
	}
	return f, nil
}

// whole reads digits only: no hexadecimal, and no leading zero, which YAML 1.1
// takes for octal.
func whole(s string, lo, hi int64) (int64, error) {
	if !wholeRE.MatchString(s) {
		return 0, fmt.Errorf("%s is not a whole number; write decimal digits only", show(s))
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n < lo || n > hi {
		return 0, fmt.Errorf("%s is out of range; write %d to %d", show(s), lo, hi)
	}
	return n, nil
}

// maxCount bounds every plain number; its own bounds come with its meaning.
const maxCount = 1_000_000_000

func parseCount(s string) (any, error) {
	n, err := whole(s, -maxCount, maxCount)
	return count(n), err
}

func parseMetric(s string) (any, error) {
	n, err := whole(s, 0, 1<<32-1)
	return metric(n), err
}

// parseASN refuses the numbers that no AS can have: 0 (RFC 7607), AS_TRANS
// 23456 (RFC 6793), 65535 and 4294967295 (RFC 7300).
func parseASN(s string) (any, error) {
	if m := asdotRE.FindStringSubmatch(s); m != nil {
		hi, errHi := strconv.ParseUint(m[1], 10, 16)
		lo, errLo := strconv.ParseUint(m[2], 10, 16)
		if errHi == nil && errLo == nil {
			return nil, fmt.Errorf("%s is not a plain AS number; write %d", s, hi<<16|lo)
		}
	}
	n, err := whole(s, 0, 1<<32-1)
	if err != nil {
		return nil, err
	}
	switch n {
	case 0, 23456, 65535, 1<<32 - 1:
		return nil, fmt.Errorf("%d is reserved and no AS can have it; write the AS number that is really used", n)
	}
	return asn(n), nil
}

func parseDuration(s string) (any, error) {
	if s != "0" && decimalRE.MatchString(s) {
		return nil, fmt.Errorf("%s has no unit; write %ss for seconds", show(s), s)
	}
	d, err := time.ParseDuration(s)
	if err != nil {
		return nil, fmt.Errorf("%s is not a duration; write a number with ms, s, m or h, such as 500ms, 9s or 15m", show(s))
	}
	return duration(d), nil
}

// String gives d as people write it: 15m, not 15m0s.
func (d duration) String() string {
	s := time.Duration(d).String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// MarshalText serves printing.
func (d duration) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// bitUnits are SI, largest first: links are sold in powers of ten.
var bitUnits = []struct {
	name string
	bits uint64
}{{"Tbps", 1e12}, {"Gbps", 1e9}, {"Mbps", 1e6}, {"kbps", 1e3}, {"bps", 1}}

var bitRateRE = regexp.MustCompile(`^([0-9]{1,19})(?:\.([0-9]{1,12}))?(Tbps|Gbps|Mbps|kbps|bps)$`)

func parseBitRate(s string) (any, error) {
	m := bitRateRE.FindStringSubmatch(s)
	if m == nil {
		return nil, fmt.Errorf("%s is not a bit rate; write a number with Tbps, Gbps, Mbps, kbps or bps, such as 10Gbps", show(s))
	}
	i := slices.IndexFunc(bitUnits, func(u struct {
		name string
		bits uint64
	}) bool {
		return u.name == m[3]
	})
	bits, ok := scale(m[1], m[2], bitUnits[i].bits)
	if !ok || bits == 0 {
		return nil, fmt.Errorf("%s is out of range; write a whole number of bit/s from 1bps to 1000000Tbps", show(s))
	}
	return bitRate(bits), nil
}

// maxBitRate is far above any link and far below what overflows.
const maxBitRate = 1e18

// scale computes whole.fraction * unit exactly; false: it is no whole number of
// bit/s, or too large.
func scale(whole, fraction string, unit uint64) (uint64, bool) {
	n, err := strconv.ParseUint(whole, 10, 64)
	if err != nil || n > maxBitRate/unit {
		return 0, false
	}
	bits := n * unit
	for _, digit := range strings.TrimRight(fraction, "0") {
		if unit%10 != 0 {
			return 0, false
		}
		unit /= 10
		bits += uint64(digit-'0') * unit
	}
	return bits, bits <= maxBitRate
}

// MarshalText serves printing: the largest unit that stays a whole number.
func (b bitRate) MarshalText() ([]byte, error) {
	for _, u := range bitUnits {
		if uint64(b)%u.bits == 0 {
			return fmt.Appendf(nil, "%d%s", uint64(b)/u.bits, u.name), nil
		}
	}
	return nil, errors.New("unreachable: every number is a multiple of 1")
}

func parseCommunity(s string) (any, error) { return community.Parse(s) }

func parseRequire(s string) (any, error) {
	if s != "all" && s != "any" {
		return nil, fmt.Errorf("%s is not a way to combine checks; write all, any, {at_least: N} or {percent: N}", show(s))
	}
	return rawRequire{Word: requireWord(s)}, nil
}
