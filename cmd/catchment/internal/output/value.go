package output

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
)

// WriteValue writes what is no message as one indented JSON document and a line end, or
// as YAML with the same tree. The keys stand in the order of v's own JSON.
func WriteValue(w io.Writer, f Format, v any) error {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(v); err != nil {
		return fmt.Errorf("writing JSON: %w", err)
	}
	if f != YAML {
		_, err := w.Write(out.Bytes())
		return err
	}
	d := json.NewDecoder(&out)
	d.UseNumber()
	n, err := treeOf(d)
	if err != nil {
		return fmt.Errorf("writing YAML: %w", err)
	}
	return writeYAMLNode(w, n)
}

// treeOf reads one value of JSON.
func treeOf(d *json.Decoder) (node, error) {
	token, err := d.Token()
	if err != nil {
		return node{}, err
	}
	switch t := token.(type) {
	case string:
		return node{kind: text, text: t}, nil
	case json.Delim:
		return branch(d, t)
	case nil:
		return null, nil
	}
	return node{kind: literal, text: fmt.Sprint(token)}, nil
}

// branch reads an object or an array, the beginning of which has been read.
func branch(d *json.Decoder, begin json.Delim) (node, error) {
	out := node{kind: list}
	if begin == '{' {
		out.kind = object
	}
	for d.More() {
		if out.kind == object {
			key, err := d.Token()
			if err != nil {
				return node{}, err
			}
			out.keys = append(out.keys, fmt.Sprint(key))
		}
		item, err := treeOf(d)
		if err != nil {
			return node{}, err
		}
		out.items = append(out.items, item)
	}
	_, err := d.Token() // its end
	return out, err
}
