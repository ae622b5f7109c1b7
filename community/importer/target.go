package importer

import (
	"slices"
	"strconv"
	"strings"

	"github.com/catchment-bgp/catchment/community"
	"github.com/catchment-bgp/catchment/community/registry"
)

// mostTargets bounds the targets of an entry.
const mostTargets = 16

// targetsOf are those that words name: an AS, a variable for one, regions, exchanges, and
// kinds of neighbours.
func targetsOf(words []word, meaning string, p community.Pattern, sc scope) []registry.Target {
	var out []registry.Target
	add := func(t registry.Target) {
		if len(out) < mostTargets && !slices.Contains(out, t) {
			out = append(out, t)
		}
	}
	named := false
	for i := range words {
		if n, ok := asnAt(meaning, words, i); ok && n != sc.owner {
			add(registry.Target{Kind: registry.AS, ASN: n, Name: nameBefore(meaning, words, i)})
			named = true
		}
	}
	if v, ok := placeholder(p); ok && !named && speaksOf(words, v, sc) {
		add(registry.Target{Kind: registry.AS, Var: v})
		named = true
	}
	all := hasFlag(words, fAll)
	if all && sc.everybody && hasFlag(words, fPeer) && !named {
		add(registry.Target{Kind: registry.All}) // at a route server the peers are all there are
	}
	for i, w := range words {
		switch {
		case w.has(fRegion):
			add(registry.Target{Kind: registry.Region, Name: regionName(meaning, words, i)})
		case w.has(fExchange) && isExchangeName(w.text):
			name := meaning[w.at : w.at+wordLen(meaning, w)]
			if w.text == "ix" {
				name = ""
			}
			add(registry.Target{Kind: registry.Exchange, Name: name})
		case named:
		case w.has(fPeer) && !strings.Contains(w.text, "-") && (all || isMany(w.text) || directed(words, i)):
			add(registry.Target{Kind: registry.Peers})
		case w.has(fTransit) && (all || isMany(w.text) || directed(words, i)):
			add(registry.Target{Kind: registry.Transits})
		case w.has(fCustomer) && next(words, i) != "as" && (all || isMany(w.text) || directed(words, i)):
			add(registry.Target{Kind: registry.Customers})
		}
	}
	if len(out) == 0 && all {
		add(registry.Target{Kind: registry.All})
	}
	return out
}

// asnAt reads the AS that a word, or AS and a number, name.
func asnAt(meaning string, words []word, i int) (uint32, bool) {
	text := words[i].text
	if n, ok := asNumber(text); ok {
		return n, true
	}
	if i > 0 && (words[i-1].text == "as" || words[i-1].text == "asn") && adjacent(meaning, words[i-1], words[i]) {
		n, err := strconv.ParseUint(text, 10, 32)
		return uint32(n), err == nil
	}
	return 0, false
}

// nameBefore is the name in front of an AS in brackets or at the end, as in
// "Cogent (AS174)": words that are nothing else.
func nameBefore(meaning string, words []word, i int) string {
	from := i
	for from > 0 && words[from-1].flags&^(fEnglish|fSpanish|fGerman|fRegion|fExchange|fTransit) == 0 && len(words[from-1].text) > 1 && words[from-1].flags&fEnglish == 0 && from > i-4 {
		if _, isNumber := times(words[from-1].text); isNumber {
			break
		}
		from--
	}
	if from == i || words[from].has(fTransit) {
		return ""
	}
	return strings.Trim(meaning[words[from].at:words[i].at], " (,-–—:/")
}

// placeholder is the variable of a pattern that stands for a whole number.
func placeholder(p community.Pattern) (string, bool) {
	names := p.Names()
	if len(names) == 0 {
		return "", false
	}
	last, found := "", false
	for part := range strings.SplitSeq(p.String(), ":") {
		if slices.Contains(names, part) {
			last, found = part, true
		}
	}
	return last, found
}

// speaksOf reports whether a placeholder is an AS: by its name, or because the words say
// "this peer", "AS$0" or the like.
func speaksOf(words []word, v string, sc scope) bool {
	for _, w := range words {
		if strings.HasPrefix(w.text, "as$") || strings.EqualFold(strings.Trim(w.text, "<>[]$"), strings.Trim(v, "<>[]$")) && isASNLike(v) {
			return true
		}
	}
	if isASNLike(v) {
		return true
	}
	for i, w := range words {
		if w.has(fThis) && hasFlag(words[i:min(len(words), i+4)], fPeer) || w.text == "as" && i > 0 && words[i-1].has(fThis) {
			return true
		}
	}
	return false
}

// isASNLike reports whether a placeholder's name says that it is an AS.
func isASNLike(v string) bool {
	plain := strings.ToLower(strings.Trim(v, "<>[]$"))
	for _, own := range []string{"your", "my", "own", "rs_", "rs-"} {
		if strings.HasPrefix(plain, own) {
			return false // the one who documents, not a target
		}
	}
	return isASNName(plain) || plain == "as" || strings.Contains(plain, "asn") || strings.Contains(plain, "peeras") || strings.HasSuffix(plain, " as") || plain == "peer"
}

// directed reports whether a word stands right after to or from, as in "learned from
// customer".
func directed(words []word, i int) bool {
	return hasFlag(words[max(0, i-2):i], fTo|fFrom) && !hasFlag(words[max(0, i-3):i], fThis)
}

// isMany reports whether a word for neighbours is of several.
func isMany(text string) bool {
	last := text[len(text)-1]
	return last == 's' || last == 'n' || strings.HasSuffix(text, "ы") || strings.HasSuffix(text, "ов") || strings.HasSuffix(text, "ам") || strings.HasSuffix(text, "и") ||
		strings.HasSuffix(text, "ів") || strings.HasSuffix(text, "ing") || text == "par"
}

func wordLen(meaning string, w word) int { return min(len(w.text), len(meaning)-w.at) }

// partOfName are words that names of places begin with.
var partOfName = set("saint st san santa sao são los las new hong nizhny rio buenos north south east west central middle great united нижний великий новая южная северная sankt bad")

// regionName is the region at i as it is written, with a second word of it.
func regionName(meaning string, words []word, i int) string {
	from, to := i, i
	for from > 0 && (words[from-1].has(fRegion) || partOfName[words[from-1].text]) && adjacent(meaning, words[from-1], words[from]) {
		from--
	}
	for to+1 < len(words) && words[to+1].has(fRegion) && adjacent(meaning, words[to], words[to+1]) {
		to++
	}
	return meaning[words[from].at : words[to].at+wordLen(meaning, words[to])]
}

func adjacent(meaning string, a, b word) bool {
	end := a.at + wordLen(meaning, a)
	return end <= b.at && strings.Trim(meaning[end:b.at], " -") == ""
}
