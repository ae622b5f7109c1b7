package importer

import (
	"strings"

	"github.com/catchment-bgp/catchment/community/registry"
)

// itemsOf reads the items in a sentence about a variable:
//
//	number of prepends (1..3), 0 - do not announce
//	number of prepends (x=1,2,4) or do not announce (x=9)
//	2 for peers or 3 for customers
func (d *document) itemsOf(rest, name string) []registry.Legend {
	if items := d.bracketItems(rest, name); len(items) > 0 {
		return items
	}
	if digits, after := cutDigits(strings.TrimSpace(rest)); digits != "" && !hasLetterOrDigit(after) {
		return []registry.Legend{{Var: name, Digits: digits}}
	}
	var items []registry.Legend
	for clause := range strings.SplitSeq(splitOr(rest), ";") {
		if item, ok := d.clause(strings.TrimSpace(clause), name); ok {
			items = append(items, item)
		}
	}
	return items
}

// splitOr makes ; of what stands between clauses.
func splitOr(s string) string {
	out := []byte(s)
	for i := 0; i < len(s); i++ {
		for _, mark := range []string{", ", " or ", " или ", " або ", " oder ", " и ", " and "} {
			if strings.HasPrefix(s[i:], mark) && (i == 0 || !isDigit(s[i-1])) && i+len(mark) < len(s) && isDigit(s[i+len(mark)]) {
				for k := range mark {
					out[i+k] = ' '
				}
				out[i] = ';'
			}
		}
	}
	return string(out)
}

// clause reads "0 - do not announce", "2 for peers" and "prepends (1..3)".
func (d *document) clause(text, name string) (registry.Legend, bool) {
	if digits, meaning, ok := itemLine(text); ok {
		return d.item(name, digits, meaning), true
	}
	if digits, rest := cutDigits(text); digits != "" {
		for _, word := range []string{" for ", " is ", " means ", " для ", " para ", " für "} {
			if meaning, ok := strings.CutPrefix(rest, word); ok && meaning != "" {
				return d.item(name, digits, bare(meaning)), true
			}
		}
		if inner, ok := strings.CutPrefix(strings.TrimLeft(rest, " "), "("); ok && strings.Contains(inner, ")") {
			return d.item(name, digits, bare(inner[:strings.IndexByte(inner, ')')])), true
		}
		return registry.Legend{}, false
	}
	open := strings.LastIndexByte(text, '(')
	if open <= 0 {
		return registry.Legend{}, false
	}
	digits, rest := cutDigits(strings.TrimSpace(text[open+1:]))
	if digits == "" || !strings.HasPrefix(strings.TrimSpace(rest), ")") {
		return registry.Legend{}, false
	}
	return d.item(name, digits, bare(text[:open])), true
}

// bracketItems reads what is said before each (x=1,2) of a text. Where one text has
// several, each is for what stands after the one before it.
func (d *document) bracketItems(text, name string) []registry.Legend {
	var items []registry.Legend
	from, after := 0, false
	for at := 0; at < len(text) && len(items) < mostItems; {
		open := strings.IndexByte(text[at:], '(')
		if open < 0 {
			break
		}
		open += at
		at = open + 1
		inner := strings.TrimLeft(text[at:], " '\"")
		inner, ok := strings.CutPrefix(inner, name)
		if !ok {
			continue
		}
		inner = strings.TrimLeft(inner, " '\"")
		inner, ok = strings.CutPrefix(inner, "=")
		if !ok {
			continue
		}
		digits, rest := cutDigits(strings.TrimSpace(inner))
		if rest = strings.TrimSpace(rest); digits == "" || !strings.HasPrefix(rest, ")") {
			continue
		}
		end := len(text) - len(rest) + 1
		meaning := text[from:open]
		if from == 0 && !hasLetterOrDigit(meaning) || after {
			// The brackets stand before what they are about.
			after = true
			next := strings.IndexByte(text[end:], '(')
			if next < 0 {
				next = len(text) - end
			}
			meaning = text[end : end+next]
		}
		items = append(items, d.item(name, digits, strings.Trim(trimJoin(meaning), " ,;.")))
		from, at = end, end
	}
	return items
}

func trimJoin(s string) string {
	s = strings.Trim(s, " ,;.")
	word, rest, _ := strings.Cut(s, " ")
	if exact[strings.ToLower(word)]&fJoin != 0 {
		return rest
	}
	return s
}

// item makes a legend of one meaning, with the action that it is, if it is one.
func (d *document) item(name, digits, meaning string) registry.Legend {
	meaning = squeeze(meaning)
	words := d.words.read(meaning)
	l := registry.Legend{Var: name, Digits: plainDigits(digits), Meaning: meaning, Action: actionOf(words, scope{names: []string{name}, owner: d.owner})}
	if l.Action != nil && l.Action.Verb.Numbered() && l.Action.Number == nil {
		l.Action.Var = name
	}
	return l
}

// plainDigits takes leading zeros out of a legend's numbers, which are compared as such.
func plainDigits(digits string) string {
	return strings.ReplaceAll(digits, " ", "")
}
