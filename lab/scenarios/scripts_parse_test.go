package scenarios

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/catchment-bgp/catchment/lab/router"
)

// conditionWait is how long a script waits for a condition that does not say "within".
const conditionWait = 15 * time.Second

// cutWithin takes "within 5s" off the end of a command's words.
func cutWithin(words []string, otherwise time.Duration) ([]string, time.Duration, error) {
	at := len(words) - 2
	if at < 0 || words[at] != "within" {
		if slices.Contains(words, "within") {
			return nil, 0, errors.New("write `within 5s` at the end")
		}
		return words, otherwise, nil
	}
	within, err := positive(words[at+1])
	return words[:at], within, err
}

func positive(text string) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 {
		return 0, fmt.Errorf("%q is no time; write 500ms or 5s", text)
	}
	return d, nil
}

// routeWant is what the command route asks of a path.
type routeWant struct {
	router          string
	prefix          netip.Prefix
	path            []uint32 // nil: any
	has, lacks      []string // communities of any kind
	med, localPref  *uint32
	from            string // the node that it was learned from; empty: any
	any             bool   // any path will do, not only the best
	within          time.Duration
	addressesOfFrom []netip.Addr // filled in when the lab is known
}

// parseRoute reads the words of the command route.
func parseRoute(words []string) (want routeWant, err error) {
	if words, want.within, err = cutWithin(words, conditionWait); err != nil {
		return want, err
	}
	if len(words) < 2 {
		return want, errors.New("write: route ROUTER PREFIX [CONDITION...] [within 5s]")
	}
	want.router = words[0]
	if want.prefix, err = netip.ParsePrefix(words[1]); err != nil {
		return want, err
	}
	for _, word := range words[2:] {
		if err := want.set(word); err != nil {
			return want, fmt.Errorf("%s: %w", word, err)
		}
	}
	return want, nil
}

func (want *routeWant) set(word string) (err error) {
	key, value, given := strings.Cut(word, "=")
	if key == "any" && !given {
		want.any = true
		return nil
	}
	if value == "" {
		return errors.New("is no condition; write path=65001,57629, community=57629:101, nocommunity=65535:0, med=0, localpref=100, from=NODE or any")
	}
	switch key {
	case "path":
		for text := range strings.SplitSeq(value, ",") {
			asn, err := number32(text)
			if err != nil {
				return err
			}
			want.path = append(want.path, *asn)
		}
	case "community":
		want.has = append(want.has, value)
	case "nocommunity":
		want.lacks = append(want.lacks, value)
	case "med":
		want.med, err = number32(value)
	case "localpref":
		want.localPref, err = number32(value)
	case "from":
		want.from = value
	default:
		err = errors.New("is no condition")
	}
	return err
}

func number32(text string) (*uint32, error) {
	n, err := strconv.ParseUint(text, 10, 32)
	value := uint32(n)
	return &value, err
}

// fits says what is wrong with a router's paths to the prefix; nil when one is as wanted.
func (want routeWant) fits(paths []router.Path) error {
	var errs []error
	for _, p := range paths {
		if !p.Best && !want.any {
			continue
		}
		err := want.fitsOne(p)
		if err == nil {
			return nil
		}
		errs = append(errs, err)
	}
	if len(errs) == 0 {
		return fmt.Errorf("%s has no such route to %s: %d paths, none is the best", want.router, want.prefix, len(paths))
	}
	return errors.Join(errs...)
}

func (want routeWant) fitsOne(p router.Path) error {
	all := slices.Concat(p.Communities, p.LargeCommunities, p.ExtCommunities)
	for _, c := range want.has {
		if !slices.Contains(all, c) {
			return fmt.Errorf("the path of %s lacks community %s: %v", p.From, c, all)
		}
	}
	for _, c := range want.lacks {
		if slices.Contains(all, c) {
			return fmt.Errorf("the path of %s has community %s: %v", p.From, c, all)
		}
	}
	switch {
	case want.path != nil && !slices.Equal(want.path, p.ASPath):
		return fmt.Errorf("the path of %s is %v, not %v", p.From, p.ASPath, want.path)
	case want.med != nil && !sameNumber(want.med, p.MED):
		return fmt.Errorf("the path of %s has MED %s, not %d", p.From, spell(p.MED), *want.med)
	case want.localPref != nil && !sameNumber(want.localPref, p.LocalPref):
		return fmt.Errorf("the path of %s has local preference %s, not %d", p.From, spell(p.LocalPref), *want.localPref)
	case want.from != "" && !slices.Contains(want.addressesOfFrom, p.From):
		return fmt.Errorf("the path is from %s, not from %s %v", p.From, want.from, want.addressesOfFrom)
	}
	return nil
}

func sameNumber(a, b *uint32) bool { return a != nil && b != nil && *a == *b }

func spell(n *uint32) string {
	if n == nil {
		return "none"
	}
	return fmt.Sprint(*n)
}
