package community

import (
	"errors"
	"fmt"
	"strings"
)

// depths is how many brackets are open at each octet of a text. A < in front of a
// digit opens none.
func depths(text string) []int {
	out, deep := make([]int, len(text)), 0
	for i := range len(text) {
		switch c := text[i]; {
		case c == '<' && i+1 < len(text) && text[i+1] >= '0' && text[i+1] <= '9':
		case strings.IndexByte("<[({", c) >= 0:
			deep++
		case strings.IndexByte(">])}", c) >= 0:
			deep = max(0, deep-1)
		}
		out[i] = deep
	}
	return out
}

// outside is text without what stands in brackets.
func outside(text string) string {
	var b strings.Builder
	for i, deep := range depths(text) {
		if deep == 0 {
			b.WriteByte(text[i])
		}
	}
	return b.String()
}

// cutWord takes rt, ro or soo off the front.
func cutWord(text string) (rest string, subType byte) {
	word := strings.IndexAny(text, " :,")
	if word < 0 {
		return text, 0
	}
	switch strings.ToLower(text[:word]) {
	case "rt":
		subType = subTypeRouteTarget
	case "ro", "soo":
		subType = subTypeRouteOrigin
	default:
		return text, 0
	}
	return strings.TrimLeft(text[word:], " :,"), subType
}

// cutType takes what makes a pattern one of extended communities off the front: a word
// or, as in 0x00:0x03:65001:nnn, the type and the sub-type.
func cutType(text string) (rest string, ext extended, err error) {
	parts := strings.SplitN(text, ":", 3)
	if strings.Count(outside(text), ":") < 3 || len(parts[0]) < 3 || !strings.HasPrefix(parts[0], "0x") || !strings.HasPrefix(parts[1], "0x") {
		rest, ext.subType = cutWord(text)
		return rest, ext, nil
	}
	ext.exact = true
	if ext.typ, err = parseOctet(parts[0]); err == nil {
		ext.subType, err = parseOctet(parts[1])
	}
	if err == nil && ext.typ&^nonTransitive != typeTwoOctetAS && ext.typ&^nonTransitive != typeFourOctetAS {
		err = fmt.Errorf("type 0x%02x has no AS number; patterns are of types 0x00, 0x02, 0x40 and 0x42", ext.typ)
	}
	return parts[2], ext, err
}

// joinRange makes A:b - A:c the two parts A and b-c.
func joinRange(parts []string) ([]string, error) {
	for i, p := range parts {
		lo, first, ok := strings.Cut(p, " - ")
		if !ok || i == 0 || i == len(parts)-1 {
			continue
		}
		// parts[:i] and lo are the first value; first and parts[i+1:] the second.
		from, to := append(append([]string{}, parts[:i]...), lo), append([]string{first}, parts[i+1:]...)
		if len(from) != len(to) {
			return nil, errors.New("a range from one value to another needs two of a kind")
		}
		last := len(from) - 1
		for j := range last {
			if from[j] != to[j] {
				return nil, fmt.Errorf("a range of values may differ in the last number only, not %s and %s", from[j], to[j])
			}
		}
		return append(from[:last], from[last]+"-"+to[last]), nil
	}
	return parts, nil
}
