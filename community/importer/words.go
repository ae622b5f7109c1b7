package importer

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/catchment-bgp/catchment/community"
)

// flags are what a word may say.
type flags uint64

const (
	fNeg         flags = 1 << iota // not
	fExport                        // announce, as an order or as the name of the act
	fExported                      // announced: it has been done
	fPrepend                       // prepend
	fBlackhole                     // blackhole, discard
	fGshut                         // graceful shutdown
	fSet                           // set, raise, lower
	fLocalPref                     // local preference
	fMED                           // metric
	fOnly                          // only
	fBlock                         // block, prevent
	fLearn                         // learned, received, originated
	fTags                          // tags, as the first word
	fRoute                         // route, prefix
	fNode                          // node, POP
	fCustomer                      //
	fPeer                          //
	fTransit                       //
	fAll                           // all, any
	fRegion                        // a continent, country or city
	fExchange                      //
	fExample                       //
	fNote                          //
	fCommunity                     //
	fFormat                        //
	fNoExport                      // NO_EXPORT and its like, by name
	fNoAdvertise                   // NO_ADVERTISE, by name
	fFrom                          //
	fTo                            //
	fFor                           //
	fCan                           // may, can
	fUse                           // use
	fInfo                          // another word of what is told
	fAct                           // another word of what is done
	fPath                          // AS_PATH
	fThis                          // this, a certain, specific
	fLabel                         // a word that may stand before a value
	fJoin                          // and, or
	fPast                          // deprecated, unconfirmed
	fReason                        // the reason of what was done
	fHeader                        // of a table: what a column holds
	fForm                          // of a header: the form of a community, no meaning
	hInfo                          // of a heading
	hAction
	fRussian
	fUkrainian
	fSpanish
	fGerman
	fEnglish
)

// word is one word of a text.
type word struct {
	text  string // in lower case
	flags flags
	at    int // its octet
}

func (w word) has(f flags) bool { return w.flags&f != 0 }

func hasFlag(words []word, f flags) bool {
	for _, w := range words {
		if w.has(f) {
			return true
		}
	}
	return false
}

// lexicon finds words and patterns, and keeps what it has found.
type lexicon struct {
	seen     map[string]flags
	patterns map[string]community.Pattern
	texts    map[string][]word // those of a document are read several times
	lines    []line            // room for those of a document
	drafts   []draft
}

func newLexicon() *lexicon {
	return &lexicon{seen: map[string]flags{}, patterns: map[string]community.Pattern{}, texts: map[string][]word{}}
}

// pattern reads a pattern; those that take long to read are kept.
func (x *lexicon) pattern(text string) (community.Pattern, error) {
	if p, ok := x.patterns[text]; ok {
		return p, nil
	}
	p, err := community.ParsePattern(text)
	if err == nil && x.patterns != nil && len(x.patterns) < mostSeen && len(text) < 64 {
		x.patterns[strings.Clone(text)] = p
	}
	return p, err
}

// mostWords bounds how much of a text is looked at, and the words that are kept.
const (
	mostWords = 200
	mostSeen  = 20000
	mostTexts = 1000
)

// read takes a text apart. A word has letters, digits and what stands between them in
// names: - _ ' $ < >.
// The words may not be changed.
func (x *lexicon) read(text string) []word {
	if words, ok := x.texts[text]; ok {
		return words
	}
	words := x.wordsOf(text)
	if len(x.texts) >= mostTexts {
		clear(x.texts)
	}
	if len(text) <= longestMeaning {
		x.texts[strings.Clone(text)] = words
	}
	return words
}

func (x *lexicon) wordsOf(text string) []word {
	out := make([]word, 0, min(len(text)/5+1, mostWords))
	for i := 0; i < len(text) && len(out) < mostWords; {
		r, size := utf8.DecodeRuneInString(text[i:])
		if !startsWord(r) {
			i += size
			continue
		}
		j := wordEnd(text, i+size)
		lower := strings.ToLower(strings.TrimRight(text[i:j], "-'_"))
		if lower = strings.ReplaceAll(lower, "’", "'"); lower != "" {
			out = x.append(out, lower, i)
		}
		i = j
	}
	return phrases(out)
}

// append adds a word; names of several words with _ between them, as in
// do_not_announce_to_peer, are those words.
func (x *lexicon) append(out []word, lower string, at int) []word {
	f := x.flags(lower)
	if f&^(fEnglish|fSpanish|fGerman) != 0 && strings.Count(lower, "_") < 2 || !isSeveral(lower) {
		return append(out, word{text: lower, flags: f, at: at})
	}
	for part := range strings.SplitSeq(lower, "_") {
		if part != "" {
			out = append(out, word{text: part, flags: x.flags(part), at: at})
		}
		at += len(part) + 1
	}
	return out
}

// isSeveral reports whether a name with _ is several words, and not that of a variable.
func isSeveral(lower string) bool {
	cut := strings.LastIndexByte(lower, '_')
	if cut < 0 || exact[lower] != 0 {
		return false
	}
	switch lower[cut+1:] {
	case "as", "asn", "id", "code", "name", "val", "value", "number":
		return false
	}
	return true
}

func startsWord(r rune) bool {
	if r < utf8.RuneSelf {
		return isLetter(byte(r)) || isDigit(byte(r)) || r == '$' || r == '<'
	}
	return unicode.IsLetter(r) || unicode.IsDigit(r) || r == '$' || r == '<'
}

func wordEnd(text string, j int) int {
	for j < len(text) {
		if c := text[j]; c < utf8.RuneSelf {
			if !isLetter(c) && !isDigit(c) && strings.IndexByte("-_'$>", c) < 0 {
				break
			}
			j++
			continue
		}
		r, size := utf8.DecodeRuneInString(text[j:])
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("-_'’$>", r) {
			break
		}
		j += size
	}
	return j
}

func (x *lexicon) flags(w string) flags {
	f, ok := x.seen[w]
	if !ok {
		f = lookUp(w)
		if len(x.seen) < mostSeen {
			x.seen[strings.Clone(w)] = f
		}
	}
	return f
}

// lookUp finds a word, or the longest stem of it.
func lookUp(w string) flags {
	f := exact[w]
	if f&^(fEnglish|fSpanish|fGerman) == 0 {
		for n := len(w); n > 2; n-- {
			if s, ok := stems[w[:n]]; ok {
				f |= s
				break
			}
		}
	}
	if f == 0 && isExchangeName(w) {
		f = fExchange
	}
	return f | language(w)
}

// isExchangeName reports whether a word is like ams-ix, msk-ix or ix1.
func isExchangeName(w string) bool {
	return strings.HasSuffix(w, "-ix") || strings.HasPrefix(w, "ix-") || len(w) > 4 && strings.HasSuffix(w, "nap") ||
		strings.HasPrefix(w, "ix") && strings.Trim(w[2:], "0123456789") == ""
}

// language knows Cyrillic letters and those that only one language has.
func language(w string) flags {
	var f flags
	if strings.HasSuffix(w, "увати") || strings.HasSuffix(w, "ювати") {
		f = fUkrainian
	}
	for _, r := range w {
		switch {
		case strings.ContainsRune("іїєґ", r):
			f |= fUkrainian
		case strings.ContainsRune("ыэъё", r) || r >= 0x400 && r < 0x500:
			f |= fRussian
		case strings.ContainsRune("ñáíóú¿", r):
			f |= fSpanish
		case strings.ContainsRune("äöüß", r):
			f |= fGerman
		}
	}
	return f
}

// pairs are two words that phrases knows as a whole, by both.
var pairs = func() map[[2]string]string {
	out := map[[2]string]string{}
	for _, pair := range []string{"no export", "set by", "added by", "set on", "applied to", "applied on", "middle east", "north america", "south america", "latin america"} {
		a, b, _ := strings.Cut(pair, " ")
		out[[2]string{a, b}] = pair
	}
	return out
}()

func pairOf(a, b string) string {
	switch b {
	case "export", "by", "on", "to", "east", "america":
		return pairs[[2]string{a, b}]
	}
	return ""
}

// phrases gives words that mean something only together the flags of it.
func phrases(words []word) []word {
	for i := 1; i < len(words); i++ {
		a, b := &words[i-1], &words[i]
		switch pair := pairOf(a.text, b.text); {
		case a.text == "local" && strings.HasPrefix(b.text, "pref"):
			a.flags, b.flags = a.flags|fLocalPref, b.flags|fLocalPref
		case a.text == "as" && (b.text == "path" || b.text == "paths"):
			b.flags |= fPath
		case pair == "no export":
			a.flags, b.flags = a.flags|fNeg, b.flags|fExport
		case strings.HasPrefix(a.text, "grace") && strings.HasPrefix(b.text, "shut"):
			a.flags, b.flags = a.flags|fGshut, b.flags|fGshut
		case a.text == "black" && strings.HasPrefix(b.text, "hol"), strings.HasPrefix(a.text, "черн") && strings.HasPrefix(b.text, "дыр"),
			strings.HasPrefix(a.text, "чёрн") && strings.HasPrefix(b.text, "дыр"), strings.HasPrefix(a.text, "чорн") && strings.HasPrefix(b.text, "дір"),
			a.text == "agujero" && b.text == "negro", strings.HasPrefix(a.text, "schwarz") && b.text == "loch":
			a.flags, b.flags = a.flags|fBlackhole, b.flags|fBlackhole
		case a.text == "traffic" && strings.HasPrefix(b.text, "engineer"):
			a.flags |= hAction
		case pair == "set by" || pair == "added by" || pair == "set on" || pair == "applied to" || pair == "applied on":
			a.flags = a.flags&^fSet | hInfo
		case pair == "middle east" || pair == "north america" || pair == "south america" || pair == "latin america":
			a.flags, b.flags = a.flags|fRegion, b.flags|fRegion
		}
	}
	return words
}
