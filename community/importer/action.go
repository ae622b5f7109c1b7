package importer

import (
	"slices"
	"strconv"
	"strings"

	"github.com/catchment-bgp/catchment/community/registry"
)

// scope is what an action may speak of.
type scope struct {
	names []string // the variables of the pattern
	owner uint32
	// everybody: to all peers is to all, as at a route server.
	everybody bool
}

// numberWords are numbers of times in words.
var numberWords = map[string]uint32{
	"once": 1, "one": 1, "single": 1, "twice": 2, "two": 2, "double": 2, "thrice": 3, "three": 3, "triple": 3, "four": 4, "five": 5, "six": 6,
	"один": 1, "одного": 1, "одну": 1, "раз": 0, "два": 2, "две": 2, "дважды": 2, "двічі": 2, "дві": 2, "три": 3, "трижды": 3, "тричі": 3, "четыре": 4, "чотири": 4,
	"un": 1, "una": 1, "uno": 1, "dos": 2, "tres": 3, "cuatro": 4, "cinco": 5,
	"ein": 1, "eine": 1, "einen": 1, "einmal": 1, "zweimal": 2, "zwei": 2, "dreimal": 3, "drei": 3, "vier": 4, "viermal": 4,
}

// actionOf is what words ask for; nil if they name nothing that we know.
func actionOf(words []word, sc scope) *registry.Action {
	act := func(v registry.Verb) *registry.Action { return &registry.Action{Verb: v} }
	export, exportAt := exporting(words)
	prepend := prependAt(words)
	switch {
	case hasFlag(words, fBlackhole) && !negated(words, indexFlag(words, fBlackhole)) && !undone(words, indexFlag(words, fBlackhole)):
		if dropsRoute(words, indexFlag(words, fBlackhole)) {
			return nil // "drop to Cogent" is no blackhole, and may be more than no export
		}
		return act(registry.Blackhole)
	case prepend >= 0 && !hasFlag(words[max(0, prepend-2):prepend], fNeg) && (export != registry.NoExport || exportAt > prepend || counted(words, prepend, sc)):
		return prepending(words, prepend, sc)
	case hasFlag(words, fNoAdvertise):
		return act(registry.NoAdvertise)
	case hasFlag(words, fNoExport):
		if undone(words, indexFlag(words, fNoExport)) {
			return nil
		}
		return act(registry.NoExport)
	case export != "":
		return act(export)
	case hasFlag(words, fLocalPref):
		return setting(registry.LocalPref, words, indexFlag(words, fLocalPref), sc)
	case hasFlag(words, fMED):
		return setting(registry.MED, words, indexFlag(words, fMED), sc)
	case hasFlag(words, fGshut):
		return act(registry.GracefulShutdown)
	}
	return nil
}

func indexFlag(words []word, f flags) int {
	return slices.IndexFunc(words, func(w word) bool { return w.has(f) })
}

// exporting is what is said of announcing, and where.
func exporting(words []word) (registry.Verb, int) {
	for i, w := range words {
		switch {
		case w.has(fExport|fExported) && undone(words, i):
			return "", -1
		case w.has(fBlock) && hasFlag(words[i:min(len(words), i+5)], fExport|fExported), w.has(fExport|fExported) && negated(words, i):
			return registry.NoExport, i
		case w.has(fExport) && (hasFlag(words[max(0, i-2):i], fOnly) || hasFlag(words[i:], fOnly)):
			return registry.AnnounceOnly, i
		case w.has(fExport):
			return registry.Announce, i
		}
	}
	return "", -1
}

// dropsRoute reports whether what is dropped at i is not said to be traffic.
func dropsRoute(words []word, i int) bool {
	return strings.HasPrefix(words[i].text, "drop") && !slices.ContainsFunc(words, func(w word) bool { return strings.HasPrefix(w.text, "traffic") || strings.HasPrefix(w.text, "packet") })
}

// prependAt is where prepending is spoken of, also as adding to the AS_PATH; -1: nowhere.
func prependAt(words []word) int {
	if i := indexFlag(words, fPrepend); i >= 0 {
		return i
	}
	if i := indexFlag(words, fPath); i >= 0 && hasFlag(words[:i], fAct) {
		return indexFlag(words, fAct)
	}
	return -1
}

// reach is how many words from the verb its number may be.
const reach = 5

// counted reports whether a number of times is given.
func counted(words []word, at int, sc scope) bool {
	a := prepending(words, at, sc)
	return a.Number != nil || a.Var != ""
}

// prepending finds how many times.
func prepending(words []word, at int, sc scope) *registry.Action {
	a := &registry.Action{Verb: registry.Prepend}
	if n := repeated(words, at); n > 1 {
		a.Number = &n
		return a
	}
	for _, i := range around(len(words), at) {
		w := words[i]
		if n, ok := times(w.text); ok && counts(words, at, i) && !isASN(words, i, n, sc) {
			a.Number = &n
			return a
		}
		if name, ok := sc.variable(w.text); ok && !beforeASN(words, i) {
			a.Var = name
			return a
		}
	}
	if strings.HasPrefix(words[at].text, "prepend") {
		// "prepend AS64500" without a number is once; "prepends" is any number of times.
		if n, ok := asNumber(strings.TrimLeft(next(words, at), "<")); ok && n == sc.owner && sc.owner != 0 {
			one := uint32(1)
			a.Number = &one
		}
	}
	return a
}

// counts reports whether the number at i says how many times: it is beside the verb, or
// has an x or a word for times with it.
func counts(words []word, at, i int) bool {
	text := words[i].text
	switch {
	case i == at || strings.Trim(text, "0123456789") != "":
		return true
	case i+1 < len(words) && isTimesWord(words[i+1].text):
		return true
	}
	if strings.Trim(next(words, i), "0123456789") == "" && next(words, i) != "" {
		return false // from one number to another
	}
	return i == at+1 && !words[i].has(fTo) || i < at && at-i <= 2
}

func isTimesWord(text string) bool {
	switch text {
	case "times", "time", "x", "раз", "раза", "рази", "veces", "vez", "mal":
		return true
	}
	return false
}

func next(words []word, i int) string {
	if i+1 < len(words) {
		return words[i+1].text
	}
	return ""
}

// around are the places near at, the nearest first, what follows before what precedes.
func around(n, at int) []int {
	out := []int{at}
	for step := 1; step <= reach; step++ {
		if at+step < n {
			out = append(out, at+step)
		}
		if at-step >= 0 {
			out = append(out, at-step)
		}
	}
	return out
}

// times reads a number of times: 2, 2x, x2, twice, and prepend3 and 3xprepend.
func times(text string) (uint32, bool) {
	if n, ok := numberWords[text]; ok {
		return n, n > 0
	}
	digits := strings.Trim(strings.TrimSuffix(strings.TrimPrefix(text, "prepend"), "prepend"), "x×х-_")
	if len(digits) == 0 || len(digits) > 2 {
		return 0, false
	}
	if !isDigit(digits[0]) {
		return 0, false
	}
	n, err := strconv.ParseUint(digits, 10, 32)
	return uint32(n), err == nil && n > 0 && n < 30
}

// isASN reports whether the number at i is that of an AS, as in AS 3.
func isASN(words []word, i int, n uint32, sc scope) bool {
	if !isDigit(words[i].text[0]) {
		return false
	}
	if i > 0 && (words[i-1].text == "as" || words[i-1].text == "asn" || words[i-1].text == "rfc") || n == sc.owner && sc.owner != 0 {
		return true
	}
	return i+1 < len(words) && words[i+1].text == "bit"
}

// beforeASN reports whether a variable is said to be an AS.
func beforeASN(words []word, i int) bool {
	return i > 0 && (words[i-1].has(fTo) || words[i-1].text == "as" || words[i-1].text == "asn") || strings.HasPrefix(words[i].text, "as")
}

// repeated counts the own AS written several times, as in prepend AS64500 AS64500.
func repeated(words []word, at int) uint32 {
	n := uint32(0)
	for i := at + 1; i < len(words) && words[i].text == words[min(at+1, len(words)-1)].text; i++ {
		if _, ok := asNumber(words[i].text); !ok && strings.Trim(words[i].text, "0123456789") != "" {
			break
		}
		n++
	}
	return n
}

// variable finds the variable that a word is: by its name, or $0 for the first.
func (sc scope) variable(text string) (string, bool) {
	text = strings.TrimPrefix(text, "as$")
	for _, name := range sc.names {
		if strings.EqualFold(name, text) || strings.EqualFold(strings.Trim(name, "<>[]$"), strings.Trim(text, "<>[]$")) || len(name) == 1 && (text == name+"x" || text == name+"-times") {
			return name, true
		}
	}
	if digits, ok := strings.CutPrefix(text, "$"); ok {
		if n, err := strconv.Atoi(digits); err == nil && n < len(sc.names) && n >= 0 {
			return sc.names[n], true
		}
	}
	return "", false
}

// numberOf reads a number; of a word it makes no error that nobody reads.
func numberOf(text string) (uint32, bool) {
	if text == "" || !isDigit(text[0]) {
		return 0, false
	}
	n, err := strconv.ParseUint(text, 10, 32)
	return uint32(n), err == nil
}

// setting finds the value that is set: the first number or variable after the word.
func setting(v registry.Verb, words []word, at int, sc scope) *registry.Action {
	a := &registry.Action{Verb: v}
	for i := at; i < len(words) && i <= at+reach; i++ {
		text := words[i].text
		if n, ok := numberOf(strings.TrimLeft(text, "lp")); ok && !isASN(words, i, n, sc) {
			a.Number = &n
			return a
		}
		if name, ok := sc.variable(text); ok {
			a.Var = name
			return a
		}
	}
	return a
}
