package topcmd

import (
	"bytes"
	"fmt"
	"io"
	"os"

	"golang.org/x/term"
)

// The sequences that take a terminal over and give it back: its other screen, without
// a cursor and without wrapping, so that a line that is wider than was counted harms
// nothing.
const (
	enterScreen = "\x1b[?1049h\x1b[?25l\x1b[?7l\x1b[2J"
	leaveScreen = "\x1b[0m\x1b[?7h\x1b[?25h\x1b[?1049l"
)

// terminal is one that was taken over.
type terminal struct {
	in, out *os.File
	before  *term.State
}

// takeTerminal has keys come as they are pressed, and shows the other screen.
func takeTerminal(in, out *os.File) (*terminal, error) {
	before, err := term.MakeRaw(int(in.Fd()))
	if err != nil {
		return nil, fmt.Errorf("the terminal cannot be read key by key: %w; --plain does without", err)
	}
	t := &terminal{in: in, out: out, before: before}
	if _, err := io.WriteString(out, enterScreen); err != nil {
		_ = t.giveBack() // the first error is the one to tell
		return nil, fmt.Errorf("the terminal cannot be written to: %w", err)
	}
	return t, nil
}

// giveBack makes the terminal what it was. What cannot be written is tried first and
// does not keep the rest from being done.
func (t *terminal) giveBack() error {
	_, err := io.WriteString(t.out, leaveScreen)
	if restored := term.Restore(int(t.in.Fd()), t.before); restored != nil {
		return fmt.Errorf("the terminal is not as it was (the command reset mends it): %w", restored)
	}
	return err
}

// size is in columns and lines; that of old where the terminal does not say.
func (t *terminal) size() (width, height int) {
	width, height, err := term.GetSize(int(t.out.Fd()))
	if err != nil || width < 1 || height < 1 {
		return 80, 24
	}
	return width, height
}

// screen remembers what stands on the terminal, so that only lines that change are
// written.
type screen struct {
	w     io.Writer
	lines []string
	width int
}

// draw shows lines. All of them are written when the size has changed, or after forget.
func (s *screen) draw(lines []string, width int) error {
	var out bytes.Buffer
	if len(s.lines) != len(lines) || s.width != width {
		out.WriteString("\x1b[2J")
		s.lines, s.width = make([]string, len(lines)), width
	}
	for i, l := range lines {
		if s.lines[i] != l {
			fmt.Fprintf(&out, "\x1b[%d;1H%s\x1b[K", i+1, l)
		}
	}
	s.lines = lines
	if out.Len() == 0 {
		return nil
	}
	_, err := s.w.Write(out.Bytes())
	return err
}

// forget has everything drawn again.
func (s *screen) forget() { s.lines = nil }
