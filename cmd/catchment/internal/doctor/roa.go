package doctor

import (
	"fmt"
	"net/netip"
	"strings"
)

// Validity is the validation state of a route (RFC 6811, section 2).
type Validity string

// The states. An invalid route is told with why: no covering VRP has the AS, or those
// that have it do not allow the length.
const (
	Valid         Validity = "valid"
	NotFound      Validity = "not found"
	InvalidASN    Validity = "invalid: another AS"
	InvalidLength Validity = "invalid: too long"
)

// Validate gives the state of a route with that origin AS, and the VRPs that cover it.
func Validate(p netip.Prefix, origin uint32, vrps []VRP) (Validity, []VRP) {
	var covering []VRP
	state := NotFound
	for _, v := range vrps {
		if !v.covers(p) {
			continue
		}
		covering = append(covering, v)
		// RFC 6483, section 4: AS 0 is nobody's origin.
		ours := v.ASN == origin && v.ASN != 0
		switch {
		case ours && p.Bits() <= v.MaxLength:
			state = Valid
		case state == Valid:
		case ours:
			state = InvalidLength
		case state == NotFound:
			state = InvalidASN
		}
	}
	return state, covering
}

// roas checks every prefix that somebody outside is told.
func (r *report) roas(n *Node) {
	const check = "roa"
	switch {
	case n.VRPProblem != "":
		r.add(Warn, check, "the VRPs cannot be read: "+n.VRPProblem, "give a validator's export: catchment doctor --vrps FILE|URL")
		return
	case n.VRPSource == "":
		r.skip(check, "not looked at: --vrps FILE|URL names a validator's export")
		return
	}
	for _, p := range external(n.Config) {
		state, covering := Validate(p, n.Config.ASN, n.VRPs)
		found := fmt.Sprintf("%s from AS%d is %s", p, n.Config.ASN, state)
		if len(covering) > 0 {
			found += " by " + vrpText(covering)
		}
		mend := fmt.Sprintf("at your RIR, create a ROA: origin AS%d, prefix %s, max length %d", n.Config.ASN, p, p.Bits())
		switch state {
		case Valid:
			r.ok(check, "%s", found)
		case NotFound:
			r.add(Warn, check, found, mend)
		default:
			r.add(Fail, check, found+": networks that validate drop it", mend)
		}
	}
}

// mostListed bounds lists in texts.
const mostListed = 4

func vrpText(all []VRP) string {
	var out []string
	for i, v := range all {
		if i == mostListed {
			out = append(out, fmt.Sprintf("and %d more", len(all)-i))
			break
		}
		out = append(out, v.String())
	}
	return strings.Join(out, ", ")
}
