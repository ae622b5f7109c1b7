package importer

import (
	"github.com/catchment-bgp/catchment/community/registry"
)

// How much less sure an entry is whose kind its own words do not say.
const (
	sureColumn  = 0.95 // the head of the column says it
	sureSection = 0.9  // the heading says it
	sureHint    = 0.8  // a name in it hints at it
	sureNoKind  = 0.8  // nothing says it
	surePast    = 0.7  // the text says that it is deprecated, or not confirmed
)

// kindOf is what a community is for, from its words; where they do not tell, from the
// head of the column and from the heading. sure is a factor.
func kindOf(words []word, column registry.Kind, in section) (kind registry.Kind, sure float64) {
	if kind = cue(words); kind != "" {
		return kind, 1
	}
	if column != "" {
		return column, sureColumn
	}
	if in.kind != "" && !in.note {
		return in.kind, sureSection
	}
	for _, w := range words {
		switch {
		case w.has(fGshut):
			return registry.KindAction, sureHint
		case w.has(fRoute | fRegion | fExchange):
			return registry.KindInfo, sureHint
		}
	}
	return registry.KindUnknown, sureNoKind
}

// cue is what the first telling word says: learned is info, announce is action.
func cue(words []word) registry.Kind {
	for i, w := range words {
		switch {
		case w.has(fPrepend | fBlackhole | fBlock | fNoExport | fNoAdvertise | fAct | fExport | fLocalPref | fMED):
			return registry.KindAction
		case w.has(fExported):
			if negated(words, i) {
				return registry.KindAction
			}
			return registry.KindInfo
		case w.has(fSet) && hasFlag(words[i:min(len(words), i+7)], fLocalPref|fMED|fCommunity|fNoExport|fPrepend|fPath):
			return registry.KindAction
		case w.has(fNeg) && hasFlag(words[i:min(len(words), i+4)], fExport|fExported):
			return registry.KindAction
		case w.has(fLearn | fNode | fInfo), i == 0 && w.has(fTags|fFrom), w.has(fRoute) && i+1 < len(words) && words[i+1].has(fFrom) && words[i+1].text != "via":
			return registry.KindInfo
		}
	}
	return ""
}

// negated reports whether a word is denied: by one of the three before it.
func negated(words []word, i int) bool {
	return hasFlag(words[max(0, i-3):i], fNeg)
}

// languageOf is the language of a text as a BCP 47 tag, "" if it cannot be told.
func languageOf(words []word) string {
	var russian, ukrainian, spanish, german, english int
	for _, w := range words {
		switch {
		case w.has(fUkrainian):
			ukrainian++
		case w.has(fRussian):
			russian++
		}
		if w.has(fSpanish) {
			spanish++
		}
		if w.has(fGerman) {
			german++
		}
		if w.has(fEnglish) {
			english++
		}
	}
	switch {
	case ukrainian > 0:
		return "uk"
	case russian > 0:
		return "ru"
	case spanish > 0 && spanish >= english && spanish >= german:
		return "es"
	case german > english:
		return "de"
	case english > 0:
		return "en"
	}
	return ""
}
