package fleet

import "time"

// Recheck is the longest time after which a witness that lacks a node is asked again for
// all it has: it may have forgotten to tell that it has it again (FRR 8 does). It is asked
// after the grace first, and ever more seldom, since to tell all is work.
const Recheck = 10 * time.Minute

// Unseen is the Reason of a service that is announced, and that nobody outside has: an
// upstream filters it.
const Unseen = "unseen"

// Witness is a view from outside which must have the routes of a node: a router that
// tells us what it has, and has told all.
type Witness struct {
	View string
	// Begun is when it began to tell all that it has.
	Begun time.Time
	// Spoke says that it has told anything of the family since: one that tells nothing
	// of a family does not watch it.
	Spoke bool
	// Sees says that it has a route of the node.
	Sees bool
}

// Sight is what is known from outside of a service and family that a node announces.
type Sight struct {
	// Since is from when on no witness has had it; zero: one has, or there is none.
	Since time.Time
	// Views are the witnesses that lack it, and Unseen is their verdict.
	Views  []string
	Unseen bool
	// Ask has those which must tell all once more.
	Ask []string
}

// Look judges what a node announces by what the witnesses have, from before on, which
// is what the last look came to (zero at first, and whenever the node does not
// announce). Nothing is unseen but what all witnesses lack for the whole grace and, at
// its end, by what each has told in full since they began to: a router that forgets to
// tell of a change makes nobody unseen. Without a witness nobody is.
func Look(before Sight, witnesses []Witness, grace time.Duration, now time.Time) Sight {
	if len(witnesses) == 0 {
		return Sight{}
	}
	s := Sight{Since: before.Since}
	if s.Since.IsZero() || s.Since.After(now) {
		s.Since = now
	}
	age, confirmed := now.Sub(s.Since), true
	pause := min(max(grace, age/2), Recheck)
	for _, w := range witnesses {
		fresh := !w.Begun.Before(s.Since)
		switch {
		case w.Sees:
			return Sight{}
		case fresh && !w.Spoke:
			continue
		case !fresh && age >= grace/2, fresh && now.Sub(w.Begun) >= pause:
			s.Ask = append(s.Ask, w.View)
		}
		s.Views = append(s.Views, w.View)
		confirmed = confirmed && fresh
	}
	s.Unseen = len(s.Views) > 0 && confirmed && age >= grace
	return s
}
