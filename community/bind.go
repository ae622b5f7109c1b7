package community

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Binding is what one variable of a pattern stands for in a value.
type Binding struct {
	Name string // as the pattern writes it: x, NN, <ASN>, peer-as
	Text string // the digits
}

// Names are the variables of p from left to right, as the pattern writes them. They may
// not be changed.
func (p Pattern) Names() []string { return p.names }

// Bind returns what each variable of p stands for in v; false if v does not match.
func (p Pattern) Bind(v Value) ([]Binding, bool) {
	if !p.Match(v) {
		return nil, false
	}
	n, _ := p.numbers(v)
	var out []Binding
	for i := range p.segs {
		out = p.segs[i].bind(n[i], out)
	}
	return out, true
}

// Fill returns the value in which each variable stands for the digits that set gives
// it. It returns an error if one is missing or is not of the digits that the pattern
// has room for, such as a 4-octet ASN in a standard community, or if p leaves open what
// is no variable, such as a range.
func (p Pattern) Fill(set func(name string) (digits string, ok bool)) (Value, error) {
	var n [3]uint32
	for i := range p.segs {
		var err error
		if n[i], err = p.segs[i].fill(set, p.widest(i)); err != nil {
			return Value{}, fmt.Errorf("%s: %w", p.text, err)
		}
	}
	v, err := p.compose(n)
	if err != nil {
		return Value{}, fmt.Errorf("%s: %w", p.text, err)
	}
	return v, nil
}

func (s *segment) names() []string {
	switch s.form {
	case anything:
		return []string{s.text}
	case template:
		var names []string
		for _, v := range s.vars {
			names = append(names, v.name)
		}
		return names
	case fielded:
		var names []string
		for _, f := range s.layout.Fields {
			names = append(names, f.Name)
		}
		return names
	}
	return nil
}

func (s *segment) bind(n uint32, out []Binding) []Binding {
	switch s.form {
	case anything:
		return append(out, Binding{s.text, strconv.FormatUint(uint64(n), 10)})
	case template:
		text := fmt.Sprintf("%0*d", len(s.text), n)
		for _, v := range s.vars {
			out = append(out, Binding{v.name, text[v.from:v.to]})
		}
	case fielded:
		for i, text := range s.fieldTexts(n) {
			out = append(out, Binding{s.layout.Fields[i].Name, text})
		}
	}
	return out
}

func (s *segment) fill(set func(string) (string, bool), widest uint32) (uint32, error) {
	switch s.form {
	case literal:
		return s.lo, nil
	case anything:
		digits, ok := set(s.text)
		if !ok {
			return 0, fmt.Errorf("%s is not given", s.text)
		}
		if !isDigits(digits) {
			return 0, fmt.Errorf("%s cannot be %s, which is no number", s.text, quote(digits))
		}
		n, err := bounded(digits, widest)
		if errors.Is(err, errTooLarge) && widest == 0xFFFF {
			return 0, fmt.Errorf("%s does not fit into 16 bits: a standard community cannot carry it, use a large one", digits)
		}
		return n, err
	case template:
		text := []byte(s.text)
		for _, v := range s.vars {
			digits, ok := set(v.name)
			if !ok {
				return 0, fmt.Errorf("%s is not given", v.name)
			}
			if !isDigits(digits) || len(digits) > v.to-v.from {
				return 0, fmt.Errorf("%s has room for %d digits, not for %s", v.name, v.to-v.from, quote(digits))
			}
			copy(text[v.from:v.to], strings.Repeat("0", v.to-v.from-len(digits))+digits)
		}
		return bounded(string(text), widest)
	case fielded:
		return s.fillFields(set)
	}
	return 0, fmt.Errorf("%s is no variable", s.text)
}
