package pages

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// Page is one Markdown file.
type Page struct {
	// Path is relative to the root of the tree, with slashes.
	Path  string
	lines []string
}

// Table is a table of a page.
type Table struct {
	// Section is the text of the heading above it.
	Section string
	Line    int // of the header, from 1
	Header  []string
	Rows    [][]string
}

// Block is a fenced block of a page.
type Block struct {
	Section string
	Line    int    // of the fence
	Lang    string // what stands after the fence
	Text    string
	// File is the file that the paragraph above puts it into: "In `FILE`:".
	File string
	// NotRun is why nothing runs it, from a comment above: <!-- not run: WHY -->.
	NotRun string
}

// Link is a link to another place, as it is written.
type Link struct {
	Line   int
	Target string
}

// Root is the nearest folder above the working directory that holds a go.mod.
func Root() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for at := dir; ; at = filepath.Dir(at) {
		if _, err := os.Stat(filepath.Join(at, "go.mod")); err == nil {
			return at, nil
		}
		if at == filepath.Dir(at) {
			return "", fmt.Errorf("no go.mod above %s", dir)
		}
	}
}

// Read reads the page at a path below the root of the module.
func Read(path string) (Page, error) {
	root, err := Root()
	if err != nil {
		return Page{}, err
	}
	text, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(path)))
	if err != nil {
		return Page{}, err
	}
	return Parse(path, string(text)), nil
}

// Parse makes a page of a text.
func Parse(path, text string) Page {
	return Page{Path: path, lines: strings.Split(strings.TrimSuffix(text, "\n"), "\n")}
}

// Tree reads all pages below a folder, but for hidden folders, testdata and bin.
func Tree(root string) ([]Page, error) {
	var out []Page
	err := filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		base := entry.Name()
		if entry.IsDir() && name != root && (base[0] == '.' || base == "testdata" || base == "bin") {
			return filepath.SkipDir
		}
		if entry.IsDir() || filepath.Ext(base) != ".md" {
			return nil
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(root, name)
		if err != nil {
			return err
		}
		out = append(out, Parse(filepath.ToSlash(relative), string(text)))
		return nil
	})
	if err == nil && len(out) == 0 {
		err = errors.New("no page below " + root)
	}
	return out, err
}

// line is a line of a page with what it belongs to.
type line struct {
	number  int
	text    string
	section string
	heading bool
	fence   bool // opens or closes a block
	inside  bool // of a block
}

var headingRE = regexp.MustCompile(`^#{1,6} +(.*?) *#*$`)

// walk yields the lines of a page with their context.
func (p Page) walk(yield func(line) bool) {
	section, fence := "", ""
	for i, text := range p.lines {
		l := line{number: i + 1, text: text, section: section, inside: fence != ""}
		mark := fenceOf(text)
		switch {
		case fence != "" && mark != "" && strings.TrimSpace(text) == mark && strings.HasPrefix(mark, fence):
			l.fence, fence = true, ""
		case fence == "" && mark != "":
			l.fence, fence = true, mark
		case fence == "":
			if m := headingRE.FindStringSubmatch(text); m != nil {
				section = m[1]
				l.section, l.heading = section, true
			}
		}
		if !yield(l) {
			return
		}
	}
}

// fenceOf is the run of backquotes or tildes that a fence begins with, or "".
func fenceOf(text string) string {
	text = strings.TrimLeft(text, " ")
	for _, c := range []string{"`", "~"} {
		rest := strings.TrimLeft(text, c)
		if n := len(text) - len(rest); n >= 3 && !strings.Contains(rest, "`") {
			return text[:n]
		}
	}
	return ""
}

// Blocks are the fenced blocks in order. A block that is not closed ends with
// the page.
func (p Page) Blocks() []Block {
	var out []Block
	above := "" // the last paragraph
	for l := range p.walk {
		switch {
		case l.fence && !l.inside:
			lang := strings.TrimSpace(strings.Trim(strings.TrimLeft(l.text, " "), "`~"))
			b := Block{Section: l.section, Line: l.number, Lang: lang}
			if m := notRunRE.FindStringSubmatch(above); m != nil {
				b.NotRun = m[1]
			} else if m := fileRE.FindStringSubmatch(above); m != nil {
				b.File = m[1]
			}
			out = append(out, b)
		case l.fence:
			above = ""
		case !l.inside && strings.TrimSpace(l.text) != "":
			if i := l.number - 2; i < 0 || strings.TrimSpace(p.lines[i]) == "" {
				above = ""
			}
			above += l.text + " "
		case l.inside && !l.fence:
			out[len(out)-1].Text += l.text + "\n"
		}
	}
	return out
}

var (
	notRunRE = regexp.MustCompile(`<!-- not run: (.+?) -->`)
	fileRE   = regexp.MustCompile("(?:In|in|into) `([^`]+)`[^`]*: $")
)

// Tables are the tables in order.
func (p Page) Tables() []Table {
	var out []Table
	var rows []line
	flush := func() {
		if len(rows) >= 2 && ruleRE.MatchString(rows[1].text) {
			t := Table{Section: rows[0].section, Line: rows[0].number, Header: cells(rows[0].text)}
			for _, r := range rows[2:] {
				t.Rows = append(t.Rows, cells(r.text))
			}
			out = append(out, t)
		}
		rows = nil
	}
	for l := range p.walk {
		if l.inside || l.fence || !strings.HasPrefix(strings.TrimSpace(l.text), "|") {
			flush()
			continue
		}
		rows = append(rows, l)
	}
	flush()
	return out
}

var ruleRE = regexp.MustCompile(`^\s*\|(\s*:?-+:?\s*\|)+\s*$`)

// cells splits a row. \| is a bar within a cell.
func cells(row string) []string {
	const bar = "\x00"
	row = strings.ReplaceAll(strings.TrimSpace(row), `\|`, bar)
	out := strings.Split(strings.Trim(row, "|"), "|")
	for i := range out {
		out[i] = strings.TrimSpace(strings.ReplaceAll(out[i], bar, "|"))
	}
	return out
}

// Table is the table of a section; it is an error if there is not exactly one.
func (p Page) Table(section string) (Table, error) {
	var found []Table
	for _, t := range p.Tables() {
		if t.Section == section {
			found = append(found, t)
		}
	}
	if len(found) != 1 {
		return Table{}, fmt.Errorf("%s: section %q has %d tables, want one", p.Path, section, len(found))
	}
	return found[0], nil
}

// Sections are the texts of all headings.
func (p Page) Sections() []string {
	var out []string
	for l := range p.walk {
		if l.heading {
			out = append(out, l.section)
		}
	}
	return out
}

// Text is the text of a section up to the next heading of any level.
func (p Page) Text(section string) string {
	var b strings.Builder
	for l := range p.walk {
		if l.section == section && !l.heading {
			b.WriteString(l.text + "\n")
		}
	}
	return b.String()
}

var (
	linkRE = regexp.MustCompile(`\]\(([^()\s]+)\)`)
	codeRE = regexp.MustCompile("`[^`]*`")
)

// Links are the links outside of code, in order.
func (p Page) Links() []Link {
	var out []Link
	for l := range p.walk {
		if l.inside || l.fence {
			continue
		}
		// The text of a link may be code; code that looks like a link is none.
		text := codeRE.ReplaceAllStringFunc(l.text, func(code string) string {
			return strings.NewReplacer("](", "  ").Replace(code)
		})
		for _, m := range linkRE.FindAllStringSubmatch(text, -1) {
			out = append(out, Link{l.number, m[1]})
		}
	}
	return out
}

// Anchors are what links into the page may name after #, as GitHub makes them.
func (p Page) Anchors() []string {
	var out []string
	for _, s := range p.Sections() {
		a := anchor(s)
		for n := 1; slices.Contains(out, a); n++ {
			a = fmt.Sprintf("%s-%d", anchor(s), n)
		}
		out = append(out, a)
	}
	return out
}

var anchorRE = regexp.MustCompile(`[^\p{L}\p{N}_ -]`)

func anchor(heading string) string {
	return strings.ReplaceAll(strings.ToLower(anchorRE.ReplaceAllString(heading, "")), " ", "-")
}
