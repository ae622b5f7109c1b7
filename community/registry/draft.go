package registry

import (
	"fmt"
	"strings"

	"github.com/catchment-bgp/catchment/community"
)

// DraftLine explains a value as draft-ietf-grow-yang-bgp-communities prints it: VALUE -
// NAME/CATEGORY (ASN:FIELD=MEANING,FIELD=MEANING:FIELD=MEANING), or VALUE - Unknown. The
// first entry that matches counts, not the most specific: the draft has them published in
// that order (section 7.2). Fields without a description are left out, and those with *
// show their digits.
func DraftLine(entries []Entry, v community.Value) string {
	for i := range entries {
		if e := &entries[i]; e.Pattern.Match(v) {
			return v.Typed() + " - " + e.draftForm(v)
		}
	}
	return v.Typed() + " - Unknown"
}

func (e *Entry) draftForm(v community.Value) string {
	name := e.Name
	if name == "" {
		name = e.Pattern.String()
	}
	switch e.Kind {
	case KindInfo:
		name += "/informational"
	case KindAction:
		name += "/action"
	}
	admin, _ := leftOf(v)
	bound, _ := e.Pattern.Bind(v)
	if n := e.firstNames(); n < len(bound) {
		bound = bound[n:]
	}
	var numbers []string
	legends := e.Legends
	for place := 1; ; place++ {
		layout, ok := e.Pattern.Layout(place)
		if !ok {
			break
		}
		var fields []string
		for _, f := range layout.Fields {
			digits := bound[0].Text
			bound = bound[1:]
			var meaning string
			if meaning, legends = described(legends, f.Name, digits); meaning != "" {
				fields = append(fields, f.Name+"="+meaning)
			}
		}
		numbers = append(numbers, strings.Join(fields, ","))
	}
	if len(numbers) == 0 {
		for _, b := range bound {
			numbers = append(numbers, b.Name+"="+b.Text)
		}
	}
	return fmt.Sprintf("%s (%d:%s)", name, admin, strings.Join(numbers, ":"))
}

// firstNames is how many variables the administrator has.
func (e *Entry) firstNames() int {
	if _, ok := e.Pattern.First(); ok {
		if l, ok := e.Pattern.Layout(0); ok {
			return len(l.Fields)
		}
	}
	return 0
}

// described returns what the next legend of a field says of its digits, and the legends
// after it. Two numbers may each have a field of one name, in the order of the legends.
func described(legends []Legend, name, digits string) (meaning string, rest []Legend) {
	for i, l := range legends {
		if l.Var != name {
			continue
		}
		if l.Meaning == "*" {
			return digits, legends[i+1:]
		}
		return l.Meaning, legends[i+1:]
	}
	return "", legends
}
