package importer

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/catchment-bgp/catchment/community/registry"
)

// fillers are words beside those of the lexicon that change neither what is done nor
// towards whom.
var fillers = set(`it its it's this your our their they them there's as's ases asns asn id
 time times x n count global globally remote remotely triggered trigger standard well-known basic simple bgp ebgp session sessions
 neighbor neighbors neighbour neighbours network networks allow allows force forces permit permits please do does will would be being make makes tell tells
 on en out next-hop own request control traffic packet packets host attribute up anywhere number ip ipv4 ipv6
 раз раза рази стороны los las veces vez mal`)

// undoing are words that turn what stands after them into its opposite.
var undoing = set("override overrides remove removes strip strips ignore ignores cancel cancels undo except avoid disable disables reject rejects bypass bypasses")

// excepting are words after which the others stand.
var excepting = set("but excluding exclude other others besides unless кроме крім salvo excepto menos außer ausser")

// undone reports whether the word at i is turned into its opposite by one of the three
// before it, as in "override no-export".
func undone(words []word, i int) bool {
	return slices.ContainsFunc(words[max(0, i-3):max(0, i)], func(w word) bool { return undoing[w.text] })
}

// relatively are words by which a number is no value, but a difference from one.
var relatively = set("by less than minus plus higher relative")

// isRelative reports whether a text changes a value by so much and does not set it.
func isRelative(words []word, meaning string) bool {
	return strings.Contains(meaning, "+=") || strings.Contains(meaning, "-=") || slices.ContainsFunc(words, func(w word) bool { return relatively[w.text] })
}

var (
	asideRE    = regexp.MustCompile(`(?i)\s*\((?:default|rfc)[^()]*\)|,? even if .*$`) // which change nothing
	originRE   = regexp.MustCompile(`(?i)whois|@|://|contact`)
	digitsOnly = regexp.MustCompile(`^[0-9x×х+.-]+$`)
)

// narrowed adds to the targets of an action whom or what else the text speaks of: what is
// left of it when every word is taken away that the action, its number and the targets
// have explained. Targets that are left out would make "prepend towards Cogent" mean
// towards all.
func (d *document) narrowed(targets []registry.Target, meaning string, a *registry.Action, sc scope) []registry.Target {
	if strings.Contains(meaning, "(") || strings.Contains(meaning, "even") {
		meaning = asideRE.ReplaceAllString(meaning, "")
	}
	plain := meaning
	for _, name := range sc.names { // <peer ASN> has two words, and means no more than x
		if strings.ContainsAny(name, "<[") {
			plain = strings.ReplaceAll(plain, name, strings.Repeat(" ", len(name)))
		}
	}
	words := d.words.read(plain)
	from, to := -1, 0
	if twoMinds(words, a) && (len(sc.names) == 0 || !strings.Contains(meaning, "=")) { // digits may say which
		from, to = 0, len(meaning)
	}
	for i := range words {
		if !explained(targets, words, i, plain, a, sc) {
			if from < 0 {
				from = words[i].at
			}
			to = words[i].at + wordLen(meaning, words[i])
		}
	}
	if from < 0 || len(targets) >= mostTargets {
		return targets
	}
	return append(slices.DeleteFunc(targets, func(t registry.Target) bool { return t.Kind == registry.All }), registry.Target{Kind: registry.Named, Name: meaning[from:to]})
}

// twoMinds reports whether a text speaks of announcing and of not announcing, or of that
// beside a prepend: of two targets, of two steps or of an exception.
func twoMinds(words []word, a *registry.Action) bool {
	var yes, no bool
	for i, w := range words {
		switch {
		case w.has(fBlock) && negated(words, i), w.has(fNoExport) && a.Verb == registry.Prepend:
			return true
		case w.has(fExport|fExported) && negated(words, i), w.has(fNoExport):
			no = true
		case w.has(fExport) && !hasFlag(words[max(0, i-5):i], fBlock):
			yes = true
		}
	}
	return no && (yes || a.Verb == registry.Prepend)
}

// explained reports whether the word at i says no more than the action and the targets do.
func explained(targets []registry.Target, words []word, i int, meaning string, a *registry.Action, sc scope) bool {
	w := words[i]
	switch {
	case fillers[w.text], w.has(fRegion):
		return true
	case undoing[w.text], excepting[w.text], w.text == "tier-1", w.text == "tier1", w.has(fReason), w.has(fLearn) && w.text != "tagged" && w.text != "marked":
		return false
	case w.has(fExchange):
		return slices.ContainsFunc(targets, func(t registry.Target) bool { return t.Kind == registry.Exchange && strings.EqualFold(t.Name, w.text) })
	case w.flags != 0:
		return true
	case variableIn(w.text, sc):
		return true
	case a.Verb == registry.Blackhole && w.at > 0 && meaning[w.at-1] == '/': // only /32
		return true
	case len(sc.names) > 0 && digitsOnly.MatchString(w.text): // n = 1-3
		return true
	}
	if n, ok := asnAt(meaning, words, i); ok {
		return n == sc.owner || slices.ContainsFunc(targets, func(t registry.Target) bool { return t.ASN == n })
	}
	if n, err := strconv.ParseUint(w.text, 10, 32); err == nil && (uint32(n) == sc.owner || a.Number != nil && *a.Number == uint32(n)) {
		return true
	}
	if n, ok := times(w.text); ok && a.Verb == registry.Prepend {
		return a.Number != nil && *a.Number == n
	}
	return slices.ContainsFunc(targets, func(t registry.Target) bool {
		return t.Kind == registry.AS && t.Name != "" && slices.Contains(strings.FieldsFunc(strings.ToLower(t.Name), func(r rune) bool { return strings.ContainsRune(" (,–—:/)&.", r) }), w.text)
	})
}

// variableIn reports whether a word is a variable of the pattern or $0 for one.
func variableIn(text string, sc scope) bool {
	_, ok := sc.variable(text)
	return ok || strings.HasPrefix(text, "as$") || strings.HasPrefix(text, "$") && len(text) == 2
}

// headed reports whether a heading says whom an action below it is for that names nobody
// itself: what stands under "Cogent (AS174)" is not for all.
func (d *document) headed(e *draft, sc scope) bool {
	text := e.section.text
	words := d.words.read(text)
	if !d.headings || len(words) == 0 || hasFlag(words, fFrom) || originRE.MatchString(text) {
		return false
	}
	if slices.ContainsFunc(targetsOf(words, text, e.pattern, sc), func(t registry.Target) bool {
		return t.ASN != 0 || t.Kind == registry.Region || t.Kind == registry.Exchange
	}) {
		return true
	}
	if hasFlag(words, fCommunity|fFormat|fHeader|fNote|fLabel|hAction|fCan|fUse|fSet|fLocalPref|fMED|fBlackhole|fInfo) {
		return false
	}
	for i := range words {
		if !explained(nil, words, i, text, &registry.Action{}, sc) {
			return true
		}
	}
	return false
}

// headings reports whether values stand under more than one heading: a single one is the
// title.
func headings(drafts []draft) bool {
	return slices.ContainsFunc(drafts, func(e draft) bool { return e.section.text != drafts[0].section.text })
}
