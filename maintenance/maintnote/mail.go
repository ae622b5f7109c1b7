package maintnote

import (
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/quotedprintable"
	"regexp"
	"strings"

	"golang.org/x/net/html/charset"
)

// headerLine is how the first line of a mail looks.
var headerLine = regexp.MustCompile(`^(From |[!-9;-~]+[ \t]*:)`)

func looksLikeMail(text string) bool { return headerLine.MatchString(text) }

// mailReader looks for calendars in a mail (RFC 5322, RFC 2045, RFC 2046). It is lenient
// where mails are broken, but for what holds the calendar.
type mailReader struct {
	name  string
	parts int
	seen  []string // what was found instead of calendars
	texts []calendarText
	errs  []error
}

// found returns the calendars, or says what there is instead.
func (m *mailReader) found() ([]calendarText, error) {
	if len(m.texts) == 0 && len(m.errs) == 0 {
		return nil, &Error{m.name, 1, fmt.Sprintf("the mail carries no calendar, but %s. Ask the provider for MAINTNOTE, or make the window by hand", strings.Join(m.seen, ", "))}
	}
	return m.texts, errors.Join(m.errs...)
}

func (m *mailReader) fail(line int, form string, args ...any) {
	m.errs = append(m.errs, &Error{m.name, line, fmt.Sprintf(form, args...)})
}

// entity is a header, and where its body is.
type entity struct {
	kind     string // media type, small letters
	params   map[string]string
	encoding string
	filename string
	first    int // line
	body     string
	line     int // of the body's first line
}

// split cuts header and body apart. The first line of text has the number first.
func split(text string, first int) entity {
	e := entity{kind: "text/plain", first: first, line: first}
	header := map[string]string{}
	last := ""
	for text != "" {
		raw, rest, _ := strings.Cut(text, "\n")
		l := strings.TrimSuffix(raw, "\r")
		text = rest
		e.line++
		if strings.TrimSpace(l) == "" {
			if last == "" {
				continue // blank lines before the header
			}
			break
		}
		key, value, found := strings.Cut(l, ":")
		switch {
		case (l[0] == ' ' || l[0] == '\t') && last != "":
			header[last] += " " + strings.TrimSpace(l)
		case found && looksLikeMail(l):
			last = strings.ToLower(strings.TrimSpace(key))
			if _, again := header[last]; again {
				last = "a second " + last // the first counts
			}
			header[last] = strings.TrimSpace(value)
		default:
			last = "what is no field"
		}
	}
	e.body = text
	if kind, params, err := mime.ParseMediaType(header["content-type"]); err == nil || errors.Is(err, mime.ErrInvalidMediaParameter) {
		e.kind, e.params = kind, params
	}
	e.encoding, _, _ = strings.Cut(strings.ToLower(header["content-transfer-encoding"]), ";")
	e.encoding = strings.TrimSpace(e.encoding)
	_, disposition, _ := mime.ParseMediaType(header["content-disposition"])
	e.filename = disposition["filename"]
	if e.filename == "" {
		e.filename = e.params["name"]
	}
	if name, err := new(mime.WordDecoder).DecodeHeader(e.filename); err == nil {
		e.filename = name
	}
	return e
}

// read takes a mail or a part of one in.
func (m *mailReader) read(text string, first, depth int) {
	e := split(text, first)
	if m.parts++; m.parts > maxParts || depth > maxDepth {
		if m.parts == maxParts+1 || depth == maxDepth+1 {
			m.fail(first, "the mail has more than %d parts, or parts in more than %d others", maxParts, maxDepth)
		}
		return
	}
	switch {
	case strings.HasPrefix(e.kind, "multipart/"):
		m.multipart(e, depth)
	case e.kind == "message/rfc822":
		if body, line, ok := m.decode(e); ok {
			m.read(body, line, depth+1)
		}
	default:
		m.leaf(e)
	}
}

// multipart takes each part in (RFC 2046, section 5.1).
func (m *mailReader) multipart(e entity, depth int) {
	boundary := e.params["boundary"]
	if boundary == "" {
		m.fail(e.first, "this is %s without a boundary: its parts cannot be told apart. Save it from the mailbox once more, whole", e.kind)
		return
	}
	var part []string
	begun, start := false, 0
	flush := func() {
		if begun {
			m.read(strings.Join(part, "\n"), start, depth+1)
		}
		part = nil
	}
	number := e.line
	for raw := range strings.SplitSeq(e.body, "\n") {
		number++
		switch l := strings.TrimRight(raw, " \t\r"); {
		case l == "--"+boundary:
			flush()
			begun, start = true, number
		case l == "--"+boundary+"--":
			flush()
			return
		default:
			part = append(part, raw)
		}
	}
	flush() // the mail was cut off; what there is may do
}

// leaf takes a part in that has no parts.
func (m *mailReader) leaf(e entity) {
	labelled := e.kind == "text/calendar" || e.kind == "application/ics" ||
		strings.HasSuffix(strings.ToLower(e.filename), ".ics") || strings.HasSuffix(strings.ToLower(e.filename), ".ical")
	what := e.kind
	if e.filename != "" {
		what += fmt.Sprintf(" (%s)", quote(e.filename))
	}
	source := fmt.Sprintf("%s, part %d, %s", m.name, m.parts, what)
	if !labelled && !strings.HasPrefix(e.kind, "text/") && e.kind != "application/octet-stream" {
		m.seen = append(m.seen, what)
		return
	}
	if !labelled && !holdsCalendar(e) {
		m.seen = append(m.seen, what)
		return
	}
	text, line, ok := m.decode(e)
	if !ok {
		return
	}
	text, err := toUTF8(text, e.params["charset"])
	if err != nil {
		m.fail(e.line, "part %d, %s: %v", m.parts, what, err)
		return
	}
	m.texts = append(m.texts, calendarText{source, line, strings.TrimPrefix(text, "\ufeff")})
}

// holdsCalendar looks into a part that does not say that it is one.
func holdsCalendar(e entity) bool {
	body, err := decode(e)
	if err != nil {
		return false
	}
	for l := range strings.Lines(strings.TrimPrefix(body, "\ufeff")) {
		if strings.TrimSpace(l) != "" {
			return isBegin(l)
		}
	}
	return false
}

// decode undoes the transfer encoding. Lines of a part that has none keep the numbers
// that they have in the mail.
func (m *mailReader) decode(e entity) (body string, line int, ok bool) {
	body, err := decode(e)
	if err != nil {
		m.fail(e.line, "part %d, %s: it is not the %s that it says: %v", m.parts, e.kind, e.encoding, err)
		return "", 0, false
	}
	if body == e.body {
		return body, e.line, true
	}
	return body, 1, true
}

func decode(e entity) (string, error) {
	var r io.Reader = strings.NewReader(e.body)
	switch e.encoding {
	case "quoted-printable":
		r = quotedprintable.NewReader(r)
	case "base64":
		r = base64.NewDecoder(base64.StdEncoding, strings.NewReader(strings.Join(strings.Fields(e.body), "")))
	case "", "7bit", "8bit", "binary":
		return e.body, nil
	default:
		return "", errors.New("this encoding is not known")
	}
	body, err := io.ReadAll(r)
	return string(body), err
}

// toUTF8 reads text in the character set that the part names.
func toUTF8(text, label string) (string, error) {
	switch strings.ToLower(label) {
	case "", "utf-8", "utf8", "us-ascii", "ascii":
		return text, nil
	}
	r, err := charset.NewReaderLabel(label, strings.NewReader(text))
	if err != nil {
		return "", fmt.Errorf("the character set %s is not known", quote(label))
	}
	body, err := io.ReadAll(r)
	return string(body), err
}
