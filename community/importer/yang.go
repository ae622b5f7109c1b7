package importer

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/catchment-bgp/catchment/community"
	"github.com/catchment-bgp/catchment/community/registry"
)

const (
	yangModule = "ietf-bgp-communities"
	yangMost   = 16 << 20 // octets of a document
)

// ReadYANG reads JSON of the module ietf-bgp-communities
// (draft-ietf-grow-yang-bgp-communities) in its revisions 2025-07-04, 2026-01-05 and
// 2026-06-29. The entries are in the published order, which [registry.DraftLine] obeys.
// What breaks a rule of the module is a problem whose text is the JSON path; an entry
// that does is left out. Since an instance does not say its revision, one without
// autonomous-system-id is taken for the first, which has neither that leaf nor the rule
// that the administrator is that AS or a private one. Owner is the AS that documents
// where the instance names none; if that is 0, each entry's own administrator is. It is
// an error if r fails or holds no such instance.
func ReadYANG(r io.Reader, name string, owner uint32, date time.Time) ([]registry.Entry, []registry.Problem, error) {
	text, err := io.ReadAll(io.LimitReader(r, yangMost+1))
	if err != nil {
		return nil, nil, err
	}
	if len(text) > yangMost {
		return nil, nil, fmt.Errorf("longer than %d octets", yangMost)
	}
	doc, err := parseNode(text)
	if err != nil {
		return nil, nil, err
	}
	y := &yangReader{file: name, owner: owner, date: date}
	top := doc.member(yangModule + ":bgp-communities")
	if top == nil {
		return nil, nil, errors.New("no " + yangModule + ":bgp-communities at the top")
	}
	y.known(doc, yangModule+":bgp-communities")
	y.set(top)
	return y.entries, y.problems, nil
}

type yangReader struct {
	file     string
	owner    uint32
	date     time.Time
	system   uint32 // autonomous-system-id, if hasID
	hasID    bool
	entries  []registry.Entry
	problems []registry.Problem
	bad      bool // the entry at hand broke a rule
}

func (y *yangReader) problem(n *node, reason string, args ...any) {
	y.bad = true
	y.problems = append(y.problems, registry.Problem{File: y.file, Line: n.line, Text: n.path, Reason: fmt.Sprintf(reason, args...)})
}

// known makes a problem of each member that is none of the names. One of another module
// or metadata (RFC 7951, section 4; RFC 7952) breaks no rule, but it is not understood.
func (y *yangReader) known(n *node, names ...string) {
	for _, m := range n.members {
		switch {
		case slices.Contains(names, m.name):
		case strings.ContainsAny(m.name, ":@"):
			bad := y.bad
			y.problem(m.value, "%s is of another module, and is left out", brief64(m.name))
			y.bad = bad
		default:
			y.problem(m.value, "the module has no %s here", brief64(m.name))
		}
	}
}

// set reads the container bgp-communities.
func (y *yangReader) set(top *node) {
	if !y.is(top, jsonObject) {
		return
	}
	y.known(top, "serial", "autonomous-system-id", "uri", "description", "contact-url", "contact", "regular", "extended", "large")
	if n := top.member("serial"); n != nil {
		if v, ok := y.number(n, 0xFFFFFFFF); ok && v == 0 {
			y.problem(n, "serial must not be 0")
		}
	}
	if n := top.member("autonomous-system-id"); n != nil {
		y.system, y.hasID = y.number(n, 0xFFFFFFFF)
	}
	for _, leaf := range []string{"uri", "contact-url"} {
		if n := top.member(leaf); n != nil {
			y.text(n, 0, 65535)
		}
	}
	if n := top.member("description"); n != nil {
		y.text(n, 1, 65535)
	}
	for contact := range y.list(top, "contact", "email-address") {
		y.known(contact, "email-address", "name", "role", "organization", "organizational-unit")
		for _, m := range contact.members {
			y.text(m.value, 1, 255)
		}
	}
	for _, kind := range []string{"regular", "extended", "large"} {
		for n := range y.list(top, kind, "name") {
			y.entry(n, kind)
		}
	}
}

// entry reads one community.
func (y *yangReader) entry(n *node, kind string) {
	y.bad = false
	e := registry.Entry{Kind: registry.KindUnknown, Confidence: 1, Source: registry.Source{File: y.file, Line: n.line, Date: y.date}}
	e.Name, _ = y.leafText(n, "name", true, 255)
	if strings.ContainsAny(e.Name, " \t\r\n") {
		y.problem(n.member("name"), "a name has no blanks")
	}
	e.Meaning, _ = y.leafText(n, "description", false, 65535)
	e.Meaning = cmp.Or(e.Meaning, e.Name)
	switch category, ok := y.leafText(n, "category", false, 255); {
	case !ok:
	case category == "informational":
		e.Kind = registry.KindInfo
	case category == "action":
		e.Kind = registry.KindAction
	default:
		y.problem(n.member("category"), "a category is informational or action, not %s", brief64(category))
	}
	var admin uint32
	switch kind {
	case "regular":
		admin = y.regular(n, &e)
	case "extended":
		admin = y.extended(n, &e)
	case "large":
		admin = y.large(n, &e)
	}
	if y.bad {
		return
	}
	e.Owner = cmp.Or(y.system, y.owner, admin)
	y.entries = append(y.entries, e)
}

func (y *yangReader) regular(n *node, e *registry.Entry) uint32 {
	y.known(n, "name", "category", "description", "global-admin", "local-admin")
	admin := y.admin(n, "global-admin", 0xFFFF)
	layout := y.layout(n, "local-admin", e)
	if !y.bad {
		p, err := community.NewFields(community.Standard, admin, layout)
		y.pattern(n, e, p, err)
	}
	return admin
}

func (y *yangReader) large(n *node, e *registry.Entry) uint32 {
	y.known(n, "name", "category", "description", "global-admin", "local-data-part-1", "local-data-part-2")
	admin := y.admin(n, "global-admin", 0xFFFFFFFF)
	one, two := y.layout(n, "local-data-part-1", e), y.layout(n, "local-data-part-2", e)
	if !y.bad {
		p, err := community.NewFields(community.Large, admin, one, two)
		y.pattern(n, e, p, err)
	}
	return admin
}

func (y *yangReader) extended(n *node, e *registry.Entry) uint32 {
	y.known(n, "name", "category", "description", "type", "subtype", "asn", "asn4", "local-admin")
	typ, sub := y.leafNumber(n, "type", 255), y.leafNumber(n, "subtype", 255)
	leaf, widest := "asn", uint32(0xFFFF)
	two, four := n.member("asn"), n.member("asn4")
	switch {
	case two != nil && four != nil:
		y.problem(four, "asn and asn4 are a choice: one of them")
	case two == nil && four == nil:
		y.problem(n, "asn or asn4 is missing")
	case four != nil:
		leaf, widest = "asn4", 0xFFFFFFFF
	}
	switch {
	case y.bad:
	case typ != 0 && typ != 2 && typ != 64 && typ != 66:
		y.problem(n.member("type"), "type is 0, 2, 64 or 66, not %d", typ)
	case leaf == "asn" && typ != 0 && typ != 64:
		y.problem(two, "../type must match Two-Octet AS-Specific Community")
	case leaf == "asn4" && typ != 2 && typ != 66:
		y.problem(four, "../type must match Four-Octet AS-Specific Community")
	}
	var admin uint32
	if !y.bad {
		admin = y.admin(n, leaf, widest)
	}
	layout := y.layout(n, "local-admin", e)
	if !y.bad {
		p, err := community.NewExtendedFields(byte(typ), byte(sub), admin, layout)
		y.pattern(n, e, p, err)
	}
	return admin
}

func (y *yangReader) pattern(n *node, e *registry.Entry, p community.Pattern, err error) {
	if err != nil {
		y.problem(n, "%v", err)
		return
	}
	e.Pattern = p
}

// admin reads a global administrator, which is the AS of the set or a private one
// (revision 2026-01-05 and later).
func (y *yangReader) admin(n *node, leaf string, widest uint32) uint32 {
	before := len(y.problems)
	admin := y.leafNumber(n, leaf, widest)
	private := registry.YANGPrivate(admin, leaf == "asn4")
	if len(y.problems) == before && y.hasID && admin != y.system && !private {
		y.problem(n.member(leaf), "global-admin must be private ASN or match autonomous-system-id")
	}
	return admin
}

// layout reads the fields of one number, and their meanings into the legends of e.
func (y *yangReader) layout(n *node, container string, e *registry.Entry) community.Layout {
	var l community.Layout
	c := n.member(container)
	if c == nil || !y.is(c, jsonObject) {
		if c == nil {
			y.problem(n, "%s is missing: what the number may be is not said", container)
		}
		return l
	}
	y.known(c, "format", "field")
	switch format, ok := y.leafText(c, "format", false, 255); {
	case !ok, format == "decimal":
	case format == "binary":
		l.Binary = true
	default:
		y.problem(c.member("format"), "a format is decimal or binary, not %s", brief64(format))
	}
	for f := range y.list(c, "field", "name") {
		y.field(f, &l, e)
	}
	if len(l.Fields) == 0 && !y.bad {
		y.problem(c, "there is no field: what the number may be is not said")
	}
	return l
}

func (y *yangReader) field(n *node, l *community.Layout, e *registry.Entry) {
	y.known(n, "name", "length", "pattern", "description")
	var f community.Field
	f.Name, _ = y.leafText(n, "name", true, 255)
	if strings.ContainsAny(f.Name, " \t\r\n") {
		y.problem(n.member("name"), "a name has no blanks")
	}
	if length := n.member("length"); length != nil {
		if v, ok := y.number(length, 255); ok && v == 0 {
			y.problem(length, "a field has at least one digit or bit")
		} else {
			f.Length = int(v)
		}
	}
	f.Expression, _ = y.leafText(n, "pattern", true, 4095)
	if odd := strings.Trim(f.Expression, "-0123456789.,*?^$+|(){}[]"); odd != "" {
		y.problem(n.member("pattern"), "a pattern has digits and -.,*?^$+|(){}[] only, not %s", brief64(odd))
	}
	l.Fields = append(l.Fields, f)
	if meaning, ok := y.leafText(n, "description", false, 65535); ok {
		if meaning != "*" && strings.Contains(meaning, "*") {
			y.problem(n.member("description"), "a field's description is * alone, or has no *")
		}
		e.Legends = append(e.Legends, registry.Legend{Var: f.Name, Digits: literalDigits(f.Expression), Meaning: meaning})
	}
}

// literalDigits is an ERE that is nothing but digits, and "" for any other.
func literalDigits(expression string) string {
	digits := strings.TrimSuffix(strings.TrimPrefix(expression, "^"), "$")
	if strings.Trim(digits, "0123456789") != "" {
		return ""
	}
	return digits
}

// brief64 is a text for a problem.
func brief64(text string) string {
	if utf8.RuneCountInString(text) > 64 {
		text = string([]rune(text)[:64]) + "..."
	}
	return fmt.Sprintf("%q", text)
}
