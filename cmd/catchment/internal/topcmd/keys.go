package topcmd

import (
	"unicode"
	"unicode/utf8"
)

// key is a key that was pressed: one printable character, or one of the names below.
type key string

// The keys that are no character.
const (
	keyUp        key = "up"
	keyDown      key = "down"
	keyPageUp    key = "page up"
	keyPageDown  key = "page down"
	keyHome      key = "home"
	keyEnd       key = "end"
	keyEnter     key = "enter"
	keyEscape    key = "escape"
	keyBackspace key = "backspace"
	keyInterrupt key = "interrupt" // Ctrl-C and Ctrl-D
	keyRedraw    key = "redraw"    // Ctrl-L
)

// sequences are what terminals send for them, after ESC and [ or O.
var sequences = map[string]key{
	"A": keyUp, "B": keyDown, "H": keyHome, "F": keyEnd,
	"5~": keyPageUp, "6~": keyPageDown, "1~": keyHome, "4~": keyEnd, "7~": keyHome, "8~": keyEnd,
}

var controls = map[byte]key{
	'\r': keyEnter, '\n': keyEnter, 0x7f: keyBackspace, 0x08: keyBackspace, 0x03: keyInterrupt, 0x04: keyInterrupt, 0x0c: keyRedraw,
}

// decode takes the keys out of what a terminal sent in one go. An escape that nothing
// follows is the key of that name; sequences that are not known are nothing.
func decode(in []byte) []key {
	var out []key
	for len(in) > 0 {
		k, size := decodeOne(in)
		if k != "" {
			out = append(out, k)
		}
		in = in[size:]
	}
	return out
}

func decodeOne(in []byte) (key, int) {
	if in[0] == 0x1b {
		return decodeEscape(in)
	}
	if k, ok := controls[in[0]]; ok {
		return k, 1
	}
	r, size := utf8.DecodeRune(in)
	if r == utf8.RuneError || !unicode.IsPrint(r) {
		return "", size
	}
	return key(string(r)), size
}

func decodeEscape(in []byte) (key, int) {
	if len(in) == 1 {
		return keyEscape, 1
	}
	if in[1] != '[' && in[1] != 'O' {
		return keyEscape, 1
	}
	for end := 2; end < len(in); end++ {
		if in[end] >= 0x40 && in[end] <= 0x7e { // the final byte (ECMA-48, 5.4)
			return sequences[string(in[2:end+1])], end + 1
		}
	}
	return "", len(in)
}
