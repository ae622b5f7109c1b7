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
// number, which other placeholders become; what legends say stands behind the meaning.
// What else there is, such as sets, EREs and other letters for digits, the form cannot
// carry. A line stands there once: of entries that become the same line the first.
func NLNOG(w io.Writer, entries []registry.Entry) ([]registry.Problem, error) {
	var problems []registry.Problem
	out := bufio.NewWriter(w)
	written := map[string]registry.Entry{}
	for _, s := range sections(entries) {
		fmt.Fprintf(out, "# %s\n", s.title)
		for _, e := range s.entries {
			text, reason := nlnogPattern(e)
			if reason == "" && oneLine(e.Meaning) == "" {
				reason = "it has no meaning"
			}
			line := fmt.Sprintf("%s,%s\n", text, strings.Join(append([]string{oneLine(e.Meaning)}, legends(e)...), "; "))
			if same, ok := written[line]; ok && reason == "" {
				reason = fmt.Sprintf("the form writes it like %s", same.Pattern)
			}
			if reason != "" {
				problems = append(problems, problem(e, "%s", reason))
				continue
			}
			written[line] = e
			out.WriteString(line)
		}
	}
	return problems, out.Flush()
}

var (
	nlnogDigits = regexp.MustCompile(`^([0-9x]*[0-9][0-9x]*|x{2,4})$`)
	nlnogRange  = regexp.MustCompile(`^[0-9]+-[0-9]+$`)
)

// nlnogPattern is the form's pattern, or why there is none.
func nlnogPattern(e registry.Entry) (text, reason string) {
	text, ok := pattern(e)
	if !ok {
		return "", noSpelling
	}
	p, err := community.ParsePattern(text)
	if err != nil {
		return "", err.Error()
	}
	word := ""
	if typ, sub, ok := p.Type(); ok {
		switch {
		case typ&^2 == 0 && sub == 2:
			word = "rt "
		case typ&^2 == 0 && sub == 3:
			word = "soo "
		default:
			return "", "the form has rt and soo only of the extended communities"
		}
	}
	if v, ok := p.Value(); ok && word == "" {
		return v.String(), ""
	}
	parts, expressions := p.Parts(), p.Expressions()
	for i, part := range parts {
		switch {
		case nlnogDigits.MatchString(part), nlnogRange.MatchString(part):
		case slices.Contains([]string{".*", "[0-9]+", "[0-9]*"}, expressions[i]):
			parts[i] = "nnn"
		default:
			return "", fmt.Sprintf("the form has digits, x, ranges and nnn, not %s", part)
		}
	}
	return word + strings.Join(parts, ":"), ""
}
