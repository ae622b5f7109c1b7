package registry

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Verbs are all verbs.
func Verbs() []Verb {
	return []Verb{Prepend, NoExport, Announce, AnnounceOnly, LocalPref, MED, Blackhole, GracefulShutdown, NoAdvertise, Other}
}

// ParseVerb reads a verb's name.
func ParseVerb(name string) (Verb, error) {
	if v := Verb(name); slices.Contains(Verbs(), v) {
		return v, nil
	}
	var names []string
	for _, v := range Verbs() {
		names = append(names, string(v))
	}
	return "", fmt.Errorf("action %q is not known; write one of %s", name, strings.Join(names, ", "))
}

var asRE = regexp.MustCompile(`^(?i:AS)([0-9]+)$`)

// crowds are the words for many at once.
var crowds = []TargetKind{Peers, Transits, Customers, All}

// ParseTowards returns the readings of a text that says towards whom, best first: an AS
// (AS174), a word for many (peers, transits, customers, all), or a name, which may be
// that of a region, of an exchange or of an AS. An error says what to write instead.
func ParseTowards(text string) ([]Target, error) {
	if m := asRE.FindStringSubmatch(text); m != nil {
		n, err := strconv.ParseUint(m[1], 10, 32)
		if err != nil || n == 0 {
			return nil, fmt.Errorf("%s is no AS number; write AS1 to AS4294967295", text)
		}
		return []Target{{Kind: AS, ASN: uint32(n)}}, nil
	}
	if kind := TargetKind(text); slices.Contains(crowds, kind) {
		return []Target{{Kind: kind}}, nil
	}
	if strings.TrimSpace(text) != text || text == "" {
		return nil, fmt.Errorf("%q names nobody; write for example AS174, peers or the name of a region", text)
	}
	return []Target{{Kind: Region, Name: text}, {Kind: Exchange, Name: text}, {Kind: AS, Name: text}}, nil
}

// FindFirst is [Registry.Find] for the first of several readings of a target that is
// documented; q.Target does not count. The query that it returns has that reading. If
// none is, nearest is that of the first reading that has some.
func (r *Registry) FindFirst(q Query, readings []Target) (asked Query, found []Finding, nearest []Entry) {
	for _, t := range readings {
		q.Target = t
		found, near := r.Find(q)
		if len(found) > 0 {
			return q, found, nil
		}
		if len(nearest) == 0 {
			nearest = near
		}
	}
	return q, nil, nearest
}

// String is the target as ParseTowards reads it: AS174, a name or a word for many; with a
// variable that says who, AS nnn, or the kind with it.
func (t Target) String() string {
	switch {
	case t.ASN != 0:
		return fmt.Sprintf("AS%d", t.ASN)
	case t.Name != "":
		return t.Name
	case t.Var != "" && t.Kind == AS:
		return "AS " + t.Var
	case t.Var != "":
		return string(t.Kind) + " " + t.Var
	}
	return string(t.Kind)
}
