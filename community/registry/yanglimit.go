package registry

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// longestDescription is that of the module's types community-description and
// field-description, in characters; longestName that of community-name and field-name.
const (
	longestDescription = 65535
	longestName        = 255
	longestExpression  = 4095
)

// YANGLimit says why the module ietf-bgp-communities (revision 2026-06-29) cannot carry an
// entry in a set of the AS system; "" if it can.
func (e *Entry) YANGLimit(system uint32) string {
	admin, ok := e.Pattern.First()
	typ, _, _ := e.Pattern.Type()
	switch {
	case !ok:
		return "the number on the left is not one AS, as the module's global-admin is"
	case admin != system && !YANGPrivate(admin, typ&2 != 0):
		return fmt.Sprintf("global-admin is AS%d, which is neither private nor the AS of the set, AS%d", admin, system)
	case strings.TrimSpace(e.Meaning) == "" && e.Name == "":
		return "it has no meaning, and the module's description has at least one character"
	case utf8.RuneCountInString(e.Meaning) > longestDescription:
		return fmt.Sprintf("the meaning has more than %d characters", longestDescription)
	}
	for place, expression := range e.Pattern.Expressions() {
		layout, ok := e.Pattern.Layout(place)
		switch {
		case place == 0:
			continue
		case ok:
			for _, f := range layout.Fields {
				if utf8.RuneCountInString(f.Name) > longestName || len(f.Expression) > longestExpression || strings.Trim(f.Expression, yangAlphabet) != "" {
					return fmt.Sprintf("the field %s is not of the module's types", f.Name)
				}
			}
		case expression == "":
			return fmt.Sprintf("%s has what the module's patterns lack: digits and -.,*?^$+|(){}[] only", e.Pattern.Parts()[place])
		case len(expression) > longestExpression:
			return fmt.Sprintf("%s needs a pattern of more than %d characters", e.Pattern.Parts()[place], longestExpression)
		}
	}
	return ""
}

// yangAlphabet is that of the module's type field-pattern.
const yangAlphabet = "-0123456789.,*?^$+|(){}[]"

// YANGPrivate reports whether the module takes an administrator for a private AS, which
// any set may define; of its leaf asn4 only those of 4 octets.
func YANGPrivate(admin uint32, asn4 bool) bool {
	return !asn4 && admin >= 64512 && admin <= 65534 || admin >= 4200000000 && admin <= 4294967294
}
