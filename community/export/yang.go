package export

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/catchment-bgp/catchment/community"
	"github.com/catchment-bgp/catchment/community/registry"
)

// Set is what is said of all communities.
type Set struct {
	// ASN is the AS that they are of.
	ASN uint32
	// Serial is the version, which must not be 0 if it is given.
	Serial      uint32
	URI         string
	Description string
	ContactURL  string
}

type yangSet struct {
	Serial      uint32          `json:"serial,omitempty"`
	ASN         uint32          `json:"autonomous-system-id,omitempty"`
	URI         string          `json:"uri,omitempty"`
	Description string          `json:"description,omitempty"`
	ContactURL  string          `json:"contact-url,omitempty"`
	Regular     []yangCommunity `json:"regular,omitempty"`
	Extended    []yangCommunity `json:"extended,omitempty"`
	Large       []yangCommunity `json:"large,omitempty"`
}

type yangCommunity struct {
	Name        string     `json:"name"`
	Category    string     `json:"category,omitempty"`
	Description string     `json:"description,omitempty"`
	GlobalAdmin *uint32    `json:"global-admin,omitempty"`
	Type        *byte      `json:"type,omitempty"`
	Subtype     *byte      `json:"subtype,omitempty"`
	ASN         *uint32    `json:"asn,omitempty"`
	ASN4        *uint32    `json:"asn4,omitempty"`
	LocalAdmin  *yangLocal `json:"local-admin,omitempty"`
	Part1       *yangLocal `json:"local-data-part-1,omitempty"`
	Part2       *yangLocal `json:"local-data-part-2,omitempty"`
}

type yangLocal struct {
	Format string      `json:"format,omitempty"`
	Field  []yangField `json:"field"`
}

type yangField struct {
	Name        string `json:"name"`
	Length      int    `json:"length,omitempty"`
	Pattern     string `json:"pattern"`
	Description string `json:"description,omitempty"`
}

// YANG writes JSON of the module ietf-bgp-communities, revision 2026-06-29
// (draft-ietf-grow-yang-bgp-communities, RFC 7951), that is valid by its rules. Numbers
// that are no fields become one. What legends say of digits stands with the field where
// it is all there is to say of it, else in the description. What the module cannot carry
// is left out.
func YANG(w io.Writer, entries []registry.Entry, set Set) ([]registry.Problem, error) {
	y := yangSet{Serial: set.Serial, ASN: set.ASN, URI: set.URI, Description: set.Description, ContactURL: set.ContactURL}
	var problems []registry.Problem
	sorted := slices.Clone(entries)
	slices.SortStableFunc(sorted, specific)
	names := map[[2]string]bool{}
	for _, e := range sorted {
		if reason := e.YANGLimit(set.ASN); reason != "" {
			problems = append(problems, problem(e, "%s", reason))
			continue
		}
		list := &y.Regular
		switch e.Pattern.Kind() {
		case community.Extended:
			list = &y.Extended
		case community.Large:
			list = &y.Large
		}
		c := yangEntry(e)
		c.Name = unused(c.Name, func(name string) bool { return names[[2]string{e.Pattern.Kind().String(), name}] })
		names[[2]string{e.Pattern.Kind().String(), c.Name}] = true
		*list = append(*list, c)
	}
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return problems, enc.Encode(map[string]yangSet{"ietf-bgp-communities:bgp-communities": y})
}

// unused returns a name, or the name and a number, that is not taken.
func unused(name string, taken func(string) bool) string {
	for i, out := 2, name; ; i++ {
		if !taken(out) {
			return out
		}
		out = fmt.Sprintf("%.250s-%d", name, i)
	}
}

func yangEntry(e registry.Entry) yangCommunity {
	c := yangCommunity{Name: yangName(e.Name, e.Pattern.String()), Description: e.Meaning}
	if e.Name != "" && e.Meaning == e.Name {
		c.Description = ""
	}
	switch e.Kind {
	case registry.KindInfo:
		c.Category = "informational"
	case registry.KindAction:
		c.Category = "action"
	}
	legends := e.Legends
	var locals []*yangLocal
	for place := range e.Pattern.Parts() {
		if place == 0 {
			continue
		}
		var local *yangLocal
		local, legends = yangNumber(e.Pattern, place, legends)
		locals = append(locals, local)
	}
	for _, l := range legends {
		c.Description = strings.TrimPrefix(c.Description+"; "+l.String(), "; ")
	}
	if utf8.RuneCountInString(c.Description) > 65535 {
		c.Description = e.Meaning
	}
	admin, _ := e.Pattern.First()
	typ, sub, extended := e.Pattern.Type()
	switch {
	case !extended:
		c.GlobalAdmin = &admin
	case typ&2 != 0:
		c.Type, c.Subtype, c.ASN4 = &typ, &sub, &admin
	default:
		c.Type, c.Subtype, c.ASN = &typ, &sub, &admin
	}
	if len(locals) == 2 {
		c.Part1, c.Part2 = locals[0], locals[1]
	} else {
		c.LocalAdmin = locals[0]
	}
	return c
}

// yangName is a name without blanks, of at most 255 characters.
func yangName(name, otherwise string) string {
	if name == "" {
		name = otherwise
	}
	name = strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return '-'
		}
		return r
	}, name)
	return fmt.Sprintf("%.255s", name)
}

// yangNumber writes one number, and returns the legends that it did not use.
func yangNumber(p community.Pattern, place int, legends []registry.Legend) (*yangLocal, []registry.Legend) {
	layout, ok := p.Layout(place)
	if !ok {
		return yangPlain(p, place, legends)
	}
	local := &yangLocal{}
	if layout.Binary {
		local.Format = "binary"
	}
	for _, f := range layout.Fields {
		field := yangField{Name: f.Name, Length: f.Length, Pattern: f.Expression}
		field.Description, legends = fieldMeaning(f, legends)
		local.Field = append(local.Field, field)
	}
	return local, legends
}

// fieldMeaning takes the legend that says all there is to say of a field.
func fieldMeaning(f community.Field, legends []registry.Legend) (string, []registry.Legend) {
	at := slices.IndexFunc(legends, func(l registry.Legend) bool { return l.Var == f.Name })
	if at < 0 || !describes(legends[at]) {
		return "", legends
	}
	literal := strings.TrimSuffix(strings.TrimPrefix(f.Expression, "^"), "$")
	if legends[at].Digits != "" && legends[at].Digits != literal {
		return "", legends
	}
	return legends[at].Meaning, slices.Delete(slices.Clone(legends), at, at+1)
}

// describes reports whether a meaning is one of the module's type field-description.
func describes(l registry.Legend) bool {
	n := utf8.RuneCountInString(l.Meaning)
	return l.Meaning == "*" || n > 0 && n <= 65535 && !strings.Contains(l.Meaning, "*")
}

// yangPlain writes a number that is no fields as one.
func yangPlain(p community.Pattern, place int, legends []registry.Legend) (*yangLocal, []registry.Legend) {
	part := p.Parts()[place]
	field := yangField{Name: "number", Pattern: p.Expressions()[place], Description: "*"}
	switch {
	case strings.Trim(field.Pattern, "0123456789") == "":
		field.Name, field.Description = "value", ""
	case strings.ContainsFunc(part, unicode.IsLetter):
		field.Name = yangName(strings.Trim(part, "<>[]$"), field.Name)
	}
	if at := slices.IndexFunc(legends, func(l registry.Legend) bool { return l.Var == part && l.Digits == "" && describes(l) }); at >= 0 {
		field.Description = legends[at].Meaning
		legends = slices.Delete(slices.Clone(legends), at, at+1)
	}
	return &yangLocal{Field: []yangField{field}}, legends
}
