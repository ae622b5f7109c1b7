package registry

import "strings"

// cyrillic is a letter for each letter of the Russian, Ukrainian, Belarusian, Bulgarian,
// Serbian and Macedonian alphabets, roughly as passports have it.
var cyrillic = map[rune]string{
	'а': "a", 'б': "b", 'в': "v", 'г': "g", 'д': "d", 'е': "e", 'ё': "yo", 'ж': "zh", 'з': "z", 'и': "i", 'й': "y", 'к': "k",
	'л': "l", 'м': "m", 'н': "n", 'о': "o", 'п': "p", 'р': "r", 'с': "s", 'т': "t", 'у': "u", 'ф': "f", 'х': "kh", 'ц': "ts",
	'ч': "ch", 'ш': "sh", 'щ': "shch", 'ъ': "", 'ы': "y", 'ь': "", 'э': "e", 'ю': "yu", 'я': "ya",
	'є': "ye", 'і': "i", 'ї': "yi", 'ґ': "g", 'ў': "u",
	'ђ': "dj", 'ј': "j", 'љ': "lj", 'њ': "nj", 'ћ': "c", 'џ': "dz", 'ѓ': "gj", 'ѕ': "dz", 'ќ': "kj",
	'ѐ': "e", 'ѝ': "i",
}

// marks are what Latin-1 has for marks that it lacks.
var marks = map[rune]string{
	'–': "-", '—': "-", '‐': "-", '‑': "-", '−': "-", '•': "-", '“': `"`, '”': `"`, '„': `"`, '‘': "'", '’': "'", '‚': "'", 'ʼ': "'",
	'…': "...", '№': "No.", '→': "->", '←': "<-", '≥': ">=", '≤': "<=", '€': "EUR", '\u2009': " ", '\u202f': " ", '\u200b': "", '\ufeff': "",
}

// Latin1 returns a text in letters that ISO 8859-1 has, as the RIPE DB needs them:
// Cyrillic is transliterated, marks are replaced. The runes that have no such form are
// left as they are, and returned once each; the RIPE DB would make each a question mark.
func Latin1(text string) (latin string, odd []rune) {
	var b strings.Builder
	for i, r := range text {
		switch s, ok := latinOf(r, nextIsLower(text[i+len(string(r)):])); {
		case ok:
			b.WriteString(s)
		default:
			b.WriteRune(r)
			if !strings.ContainsRune(string(odd), r) {
				odd = append(odd, r)
			}
		}
	}
	return b.String(), odd
}

func latinOf(r rune, title bool) (string, bool) {
	switch {
	case r == '\t', r == '\n', r == '\r':
		return " ", true
	case r < ' ', r >= 0x7F && r < 0xA0, r == '\u00AD':
		return "", false // control characters
	case r <= 0xFF:
		return string(r), true
	}
	if s, ok := marks[r]; ok {
		return s, true
	}
	if s, ok := cyrillic[r]; ok {
		return s, true
	}
	lower := []rune(strings.ToLower(string(r)))
	s, ok := cyrillic[lower[0]]
	switch {
	case !ok:
		return "", false
	case title && len(s) > 1:
		return strings.ToUpper(s[:1]) + s[1:], true
	}
	return strings.ToUpper(s), true
}

// nextIsLower reports whether a text goes on with a small letter: then the capital before
// it begins a word.
func nextIsLower(rest string) bool {
	for _, r := range rest {
		return string(r) != strings.ToUpper(string(r))
	}
	return false
}
