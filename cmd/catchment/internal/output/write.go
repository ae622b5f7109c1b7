package output

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"

	"google.golang.org/protobuf/proto"
	"gopkg.in/yaml.v3"
)

// WriteJSON writes m as one indented JSON document and a line end.
func WriteJSON(w io.Writer, m proto.Message) error {
	line, err := jsonLine(m)
	if err != nil {
		return err
	}
	var out bytes.Buffer
	if err := json.Indent(&out, line, "", "  "); err != nil {
		return fmt.Errorf("writing JSON: %w", err)
	}
	_, err = w.Write(out.Bytes())
	return err
}

// WriteJSONLine writes m as JSON on one line, for streams of documents.
func WriteJSONLine(w io.Writer, m proto.Message) error {
	line, err := jsonLine(m)
	if err != nil {
		return err
	}
	_, err = w.Write(line)
	return err
}

// WriteYAML writes m as one YAML document, without a separator.
func WriteYAML(w io.Writer, m proto.Message) error { return writeYAMLNode(w, tree(m)) }

func writeYAMLNode(w io.Writer, of node) error {
	n, err := yamlNode(of)
	if err != nil {
		return fmt.Errorf("writing YAML: %w", err)
	}
	var out bytes.Buffer
	e := yaml.NewEncoder(&out)
	e.SetIndent(2)
	if err := e.Encode(n); err != nil {
		return fmt.Errorf("writing YAML: %w", err)
	}
	if err := e.Close(); err != nil {
		return fmt.Errorf("writing YAML: %w", err)
	}
	_, err = w.Write(out.Bytes())
	return err
}

func jsonLine(m proto.Message) ([]byte, error) {
	var out bytes.Buffer
	if err := appendJSON(&out, tree(m)); err != nil {
		return nil, fmt.Errorf("writing JSON: %w", err)
	}
	out.WriteByte('\n')
	return out.Bytes(), nil
}

func appendJSON(out *bytes.Buffer, n node) error {
	switch n.kind {
	case literal:
		out.WriteString(n.text)
		return nil
	case text:
		return appendString(out, n.text)
	}
	left, right := byte('['), byte(']')
	if n.kind == object {
		left, right = '{', '}'
	}
	out.WriteByte(left)
	for i, item := range n.items {
		if i > 0 {
			out.WriteByte(',')
		}
		if n.kind == object {
			if err := appendString(out, n.keys[i]); err != nil {
				return err
			}
			out.WriteByte(':')
		}
		if err := appendJSON(out, item); err != nil {
			return err
		}
	}
	out.WriteByte(right)
	return nil
}

// appendString leaves <, > and & as they are: no browser reads this.
func appendString(out *bytes.Buffer, s string) error {
	e := json.NewEncoder(out)
	e.SetEscapeHTML(false)
	if err := e.Encode(s); err != nil {
		return err
	}
	out.Truncate(out.Len() - 1) // the encoder's line end
	return nil
}

// yamlText quotes what YAML 1.1 or 1.2 would read as anything but a string, and
// what yaml.v3 would write as a block that does not read back the same.
func yamlText(out *yaml.Node, s string) error {
	if OneLine(s) != s {
		out.Tag, out.Style = "!!str", yaml.DoubleQuotedStyle
		return nil
	}
	return out.Encode(s)
}

func yamlNode(n node) (*yaml.Node, error) {
	out := &yaml.Node{Kind: yaml.ScalarNode, Value: n.text}
	switch n.kind {
	case literal:
		return out, nil
	case text:
		return out, yamlText(out, n.text)
	case object:
		out.Kind = yaml.MappingNode
	case list:
		out.Kind = yaml.SequenceNode
	}
	for i, item := range n.items {
		if n.kind == object {
			key := new(yaml.Node)
			key.Kind, key.Value = yaml.ScalarNode, n.keys[i]
			if err := yamlText(key, n.keys[i]); err != nil {
				return nil, err
			}
			out.Content = append(out.Content, key)
		}
		value, err := yamlNode(item)
		if err != nil {
			return nil, err
		}
		out.Content = append(out.Content, value)
	}
	return out, nil
}

// WriteList writes messages as one JSON or YAML array; without any it is empty.
func WriteList[M proto.Message](w io.Writer, f Format, messages []M) error {
	all := node{kind: list}
	for _, m := range messages {
		all.items = append(all.items, tree(m))
	}
	if f == YAML {
		return writeYAMLNode(w, all)
	}
	var line, out bytes.Buffer
	if err := appendJSON(&line, all); err != nil {
		return fmt.Errorf("writing JSON: %w", err)
	}
	if err := json.Indent(&out, line.Bytes(), "", "  "); err != nil {
		return fmt.Errorf("writing JSON: %w", err)
	}
	out.WriteByte('\n')
	_, err := w.Write(out.Bytes())
	return err
}
