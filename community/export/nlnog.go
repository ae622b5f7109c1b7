package export

import (
	"bufio"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"github.com/catchment-bgp/catchment/community"
	"github.com/catchment-bgp/catchment/community/registry"
)

// NLNOG writes the form of the text files of NLNOG's looking glass: PATTERN,MEANING a
// line. A number of a pattern is digits with x for any digit, a range, or nnn for any
// number, which other placeholders become. What else there is, such as sets, EREs, other
// letters for digits, fields and legends, the form cannot carry.
func NLNOG(w io.Writer, entries []registry.Entry) ([]registry.Problem, error) {
	var problems []registry.Problem
	out := bufio.NewWriter(w)
	for _, s := range sections(entries) {
		fmt.Fprintf(out, "# %s\n", s.title)
		for _, e := range s.entries {
			text, reason := nlnogPattern(e.Pattern)
			switch {
			case reason == "" && oneLine(e.Meaning) == "":
				reason = "it has no meaning"
			case reason == "" && len(e.Legends) > 0:
				reason = "the form has no place for what some digits mean"
			}
			if reason != "" {
				problems = append(problems, problem(e, "%s", reason))
				continue
			}
			fmt.Fprintf(out, "%s,%s\n", text, oneLine(e.Meaning))
		}
	}
	return problems, out.Flush()
}

var (
	nlnogDigits = regexp.MustCompile(`^([0-9x]*[0-9][0-9x]*|x{2,4})$`)
	nlnogRange  = regexp.MustCompile(`^[0-9]+-[0-9]+$`)
)

// nlnogPattern is the form's pattern, or why there is none.
func nlnogPattern(p community.Pattern) (text, reason string) {
	word := ""
	if typ, sub, ok := p.Type(); ok {
		switch {
		case strings.HasPrefix(p.String(), "rt:"), typ&^2 == 0 && sub == 2:
			word = "rt "
		case strings.HasPrefix(p.String(), "ro:"), typ&^2 == 0 && sub == 3:
			word = "soo "
		default:
			return "", "the form has rt and soo only of the extended communities"
		}
	}
	if v, ok := p.Value(); ok && p.Kind() != community.Extended {
		return v.String(), ""
	}
	parts := p.Parts()
	expressions := p.Expressions()
	for i, part := range parts {
		layout, hasLayout := p.Layout(i)
		switch {
		case nlnogDigits.MatchString(part), nlnogRange.MatchString(part):
		case expressions[i] == ".*", hasLayout && len(layout.Fields) == 1 && slices.Contains([]string{".*", "[0-9]+", "[0-9]*"}, layout.Fields[0].Expression):
			parts[i] = "nnn"
		default:
			return "", fmt.Sprintf("the form has digits, x, ranges and nnn, not %s", part)
		}
	}
	return word + strings.Join(parts, ":"), ""
}
