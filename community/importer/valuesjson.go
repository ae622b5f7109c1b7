package importer

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/catchment-bgp/catchment/community"
)

// deepest bounds how deep JSON may be nested.
const deepest = 64

// json reads JSON, of any number of documents: the strings under keys that speak of
// communities.
func (p *paste) json(in io.Reader) {
	all, err := io.ReadAll(io.LimitReader(in, longestDocument+1))
	if err != nil {
		p.problem(0, "", err.Error())
		return
	}
	if len(all) > longestDocument {
		p.problem(0, "", fmt.Sprintf("larger than %d MiB", longestDocument>>20))
		return
	}
	w := walker{paste: p, text: all, line: 1, dec: json.NewDecoder(bytes.NewReader(all))}
	for err == nil {
		err = w.value("", false, 0)
	}
	if err != io.EOF {
		w.advance()
		p.problem(w.line, "", "JSON: "+err.Error())
	}
}

// walker goes through JSON and keeps the line.
type walker struct {
	*paste
	dec  *json.Decoder
	text []byte
	seen int // octets whose lines are counted
	line int
}

func (w *walker) advance() {
	if to := min(int(w.dec.InputOffset()), len(w.text)); to > w.seen {
		w.line += bytes.Count(w.text[w.seen:to], []byte("\n"))
		w.seen = to
	}
}

// token reads on; the end of the text is one only outside of everything.
func (w *walker) token(depth int) (json.Token, error) {
	tok, err := w.dec.Token()
	if err == io.EOF && depth > 0 {
		err = io.ErrUnexpectedEOF
	}
	return tok, err
}

// value reads one value, below a key of communities or not.
func (w *walker) value(key string, wanted bool, depth int) error {
	tok, err := w.token(depth)
	if err != nil {
		return err
	}
	if depth > deepest {
		return fmt.Errorf("nested deeper than %d", deepest)
	}
	switch v := tok.(type) {
	case json.Delim:
		if v == '{' {
			return w.object(wanted, depth)
		}
		return w.array(key, wanted, depth)
	case string:
		if wanted {
			w.advance()
			w.strings(key, v)
		}
	}
	return nil
}

func (w *walker) object(wanted bool, depth int) error {
	start, twice := len(w.found), false
	for w.dec.More() {
		tok, err := w.token(depth + 1)
		if err != nil {
			return err
		}
		key, _ := tok.(string)
		twice = twice || key == "string" // FRR has each value there and in a list
		if err := w.value(key, wanted || strings.Contains(strings.ToLower(key), "communit"), depth+1); err != nil {
			return err
		}
	}
	if wanted && twice {
		w.found = append(w.found[:start], unrepeated(w.found[start:])...)
	}
	_, err := w.token(depth + 1)
	return err
}

// unrepeated leaves of each value the first.
func unrepeated(found []Found) []Found {
	seen := map[community.Value]bool{}
	return slices.DeleteFunc(found, func(f Found) bool {
		dup := seen[f.Value]
		seen[f.Value] = true
		return dup
	})
}

// array reads a list; one of two or three numbers under communities is a community, as
// some looking glasses write it.
func (w *walker) array(key string, wanted bool, depth int) error {
	var numbers []string
	others := false
	for w.dec.More() {
		if !wanted {
			if err := w.value(key, false, depth+1); err != nil {
				return err
			}
			continue
		}
		before := len(w.found)
		tok, err := w.token(depth + 1)
		if err != nil {
			return err
		}
		switch v := tok.(type) {
		case float64:
			numbers = append(numbers, fmt.Sprintf("%.0f", v))
		case string:
			w.advance()
			if word := strings.ToLower(v); strings.Trim(v, "0123456789") == "" && v != "" || word == "rt" || word == "ro" || word == "generic" {
				numbers = append(numbers, v)
				continue
			}
			w.strings(key, v)
			others = true
		case json.Delim:
			if v == '{' {
				err = w.object(true, depth+1)
			} else if depth > deepest {
				err = fmt.Errorf("nested deeper than %d", deepest)
			} else {
				err = w.array(key, true, depth+1)
			}
			if err != nil {
				return err
			}
		}
		others = others || len(w.found) > before
	}
	w.advance()
	if len(numbers) > 0 && !others {
		w.tuple(numbers)
	}
	_, err := w.token(depth + 1)
	return err
}

func (w *walker) tuple(numbers []string) {
	text := strings.Join(numbers, ",")
	v, err := readTuple(text)
	if err != nil {
		w.problem(w.line, text, err.Error())
		return
	}
	w.found = append(w.found, Found{Value: v, Line: w.line, Text: text})
}

// strings reads the communities of one string.
func (w *walker) strings(key, text string) {
	switch strings.ToLower(key) {
	case "string", "list", "values", "value", "text", "raw":
	default:
		if !strings.Contains(strings.ToLower(key), "communit") {
			return
		}
	}
	w.list(w.line, text, true)
}
