package pages

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// Command is what a console block shows: what was typed, and what it printed.
type Command struct {
	// Prompt is what stands before the $, such as the name of a machine; mostly "".
	Prompt string
	// Line is the command. One that goes on after a backslash has several lines.
	Line   string
	Output string
}

var promptRE = regexp.MustCompile(`^(\w*)\$ (.*)`)

// Commands are those of a block, in order. Text before the first is nobody's.
func (b Block) Commands() []Command {
	var out []Command
	more := false
	for text := range strings.Lines(b.Text) {
		m := promptRE.FindStringSubmatch(strings.TrimSuffix(text, "\n"))
		switch last := len(out) - 1; {
		case more:
			out[last].Line += "\n" + strings.TrimSuffix(text, "\n")
			more = strings.HasSuffix(out[last].Line, `\`)
		case m != nil:
			out = append(out, Command{Prompt: m[1], Line: strings.TrimSpace(m[2])})
			more = strings.HasSuffix(m[2], `\`)
		case last >= 0:
			out[last].Output += text
		}
	}
	return out
}

// Change replaces what differs from run to run.
type Change struct {
	// What is looked for; To is as for [regexp.Regexp.ReplaceAllString].
	What *regexp.Regexp
	To   string
}

// everywhere is what differs on each page.
var everywhere = []Change{
	{regexp.MustCompile(`\d{4}-\d\d-\d\dT[0-9:.]+(Z|[+-]\d\d:\d\d)`), "TIME"},
	{regexp.MustCompile(`\bLast update: .*`), "Last update: TIME"},
	{regexp.MustCompile(`\b(\d+h)?(\d+m)?\d+(\.\d+)?(ns|µs|ms|s|m|h)\b`), "TIME"},
	{regexp.MustCompile(`, version \d+`), ", version N"},
	{regexp.MustCompile(`(version )\S+(  way back|  last seen)`), "${1}V$2"},
	{regexp.MustCompile(`TIME  (v\d\S*|dev|[0-9a-f]{7,}\S*)`), "TIME V"},
	{regexp.MustCompile(`by \S+ \(uid \d+\)|\S+ \(uid \d+\)`), "USER"},
	{regexp.MustCompile(`\bw-[a-z2-7]{8}\b`), "WINDOW"},
	{regexp.MustCompile(`(?m)^\d+ +TIME`), "N TIME"},
	{regexp.MustCompile(`[ \t]+`), " "},
	{regexp.MustCompile(`(?m) $`), ""},
	{regexp.MustCompile(`-{2,}`), "--"},
}

// normal is a text without what differs from run to run.
func normal(text string, more []Change) string {
	for _, c := range append(append([]Change{}, more...), everywhere...) {
		text = c.What.ReplaceAllString(text, c.To)
	}
	return strings.TrimSpace(text)
}

// Same says whether two texts differ only in times and the like. A line of three dots in want
// stands for any lines, also none; it may not be all of it.
func Same(want, got string, more ...Change) bool {
	want, got = normal(want, more), normal(got, more)
	if want == "..." {
		return false // it would hold whatever happens
	}
	if !strings.Contains("\n"+want+"\n", "\n...\n") {
		return want == got
	}
	pattern := regexp.QuoteMeta("\n" + want + "\n")
	for dots := regexp.QuoteMeta("\n...\n"); strings.Contains(pattern, dots); {
		pattern = strings.Replace(pattern, dots, `\n(?:.*\n)*?`, 1)
	}
	return regexp.MustCompile("^" + pattern + "$").MatchString("\n" + got + "\n")
}

// Player runs the console blocks of a page in order, and compares what they print with
// what the page shows. Blocks that say why they are not run are left out.
type Player struct {
	Page Page
	// Run runs a command and returns what it prints, on both outputs.
	Run func(c Command) (string, error)
	// Quiet runs a line of a block of sh, whose output nobody shows; nil: such blocks are not run.
	Quiet func(line string) error
	// Write puts the text of a block into the file that the page names; nil: nobody does.
	Write func(file, text string) error
	// Looks says that a command changes nothing, so that it can be run again until it
	// prints what is wanted; nil: none does.
	Looks func(c Command) bool
	// Patience bounds that, Pause is the time between two looks.
	Patience, Pause time.Duration
	// Changing is what differs from run to run on this page, besides times and the like.
	Changing []Change
	// Update writes what the commands print into the page, where it differs: of one that
	// looks what it prints when it has stayed the same for Settle.
	Update bool
	Settle time.Duration
}

// Play returns how many commands were run. It ends at the first that prints something
// else, whose fault it is then, with the place.
func (p Player) Play(ctx context.Context) (int, error) {
	played := 0
	shown := map[int]string{} // new texts of blocks, by their line
	for _, b := range p.Page.Blocks() {
		if b.NotRun != "" {
			continue
		}
		if b.File != "" && b.Lang != "console" && p.Write != nil {
			if err := p.Write(b.File, b.Text); err != nil {
				return played, fmt.Errorf("%s:%d: %w", p.Page.Path, b.Line, err)
			}
		}
		if b.Lang == "sh" && p.Quiet != nil {
			for line := range strings.Lines(b.Text) {
				if err := p.Quiet(strings.TrimSpace(line)); err != nil {
					return played, fmt.Errorf("%s:%d: %s: %w", p.Page.Path, b.Line, strings.TrimSpace(line), err)
				}
			}
		}
		if b.Lang != "console" {
			continue
		}
		text := ""
		for _, c := range b.Commands() {
			out, err := p.one(ctx, c)
			if err != nil {
				return played, fmt.Errorf("%s:%d: %s: %w", p.Page.Path, b.Line, c.Line, err)
			}
			played++
			text += c.Prompt + "$ " + c.Line + "\n" + out
		}
		if text != b.Text {
			shown[b.Line] = text
		}
	}
	if p.Update {
		return played, p.Page.rewrite(shown)
	}
	return played, nil
}

// one runs a command and returns what the page shows or shall show of it.
func (p Player) one(ctx context.Context, c Command) (string, error) {
	looks := p.Looks != nil && p.Looks(c)
	began := time.Now()
	var out string
	since := began // when it printed something else
	for {
		next, err := p.Run(c)
		if err != nil {
			return "", err
		}
		if Same(c.Output, next, p.Changing...) {
			return c.Output, nil
		}
		if !Same(out, next, p.Changing...) {
			since = time.Now()
		}
		out = next
		settled := !looks || time.Since(since) > p.Settle
		switch {
		case p.Update && settled:
			return trimLines(out), nil
		case !looks || time.Since(began) > p.Patience:
			return "", fmt.Errorf("it prints\n%s\nwant\n%s", normal(out, p.Changing), normal(c.Output, p.Changing))
		}
		select {
		case <-ctx.Done():
			return "", errors.Join(context.Cause(ctx), fmt.Errorf("it prints\n%s", out))
		case <-time.After(p.Pause):
		}
	}
}

// trimLines takes blanks off the ends of lines, and ends the last one.
func trimLines(s string) string {
	s = regexp.MustCompile(`(?m)[ \t]+$`).ReplaceAllString(s, "")
	if s != "" && !strings.HasSuffix(s, "\n") {
		s += "\n"
	}
	return s
}

// rewrite writes the page with other texts in the blocks of some lines.
func (p Page) rewrite(texts map[int]string) error {
	root, err := Root()
	if err != nil {
		return err
	}
	var out strings.Builder
	instead := false // within a block that was replaced
	for l := range p.walk {
		if !instead || l.fence {
			out.WriteString(l.text + "\n")
		}
		if l.fence {
			text, ok := texts[l.number]
			out.WriteString(text)
			instead = ok
		}
	}
	return os.WriteFile(filepath.Join(root, filepath.FromSlash(p.Path)), []byte(out.String()), 0o644)
}

// Alone is the page of the one block with commands in a section, as a page that a [Player] runs.
func (p Page) Alone(section string) (Page, error) {
	var found []Block
	for _, b := range p.Blocks() {
		if b.Section == section && len(b.Commands()) > 0 {
			found = append(found, b)
		}
	}
	if len(found) != 1 {
		return Page{}, fmt.Errorf("%s: section %q has %d blocks with commands, want one", p.Path, section, len(found))
	}
	return Parse(fmt.Sprintf("%s, section %s", p.Path, section), "```console\n"+found[0].Text+"```\n"), nil
}
