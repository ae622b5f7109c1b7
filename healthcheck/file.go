package healthcheck

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// File is a check of a file's existence. Whatever stands at Path counts, also a
// folder; a symbolic link counts as what it leads to.
type File struct {
	// Path is absolute.
	Path string
	// Present turns the check round: the file must exist. Otherwise it is a
	// disable file: it must not, and its first line is the reason in the error.
	Present bool
	// MaxAge is the longest time since the file was last written, with Present;
	// 0: any.
	MaxAge time.Duration
}

// maxReason is what is read of a disable file.
const maxReason = maxError

// fileProbe is the kind file.
type fileProbe struct {
	File
	alone alone
}

func fileTarget(c Check) (*target, []error) {
	if c.File == nil {
		return nil, nil
	}
	p := &fileProbe{File: *c.File}
	var errs []error
	if !filepath.IsAbs(p.Path) {
		errs = append(errs, fmt.Errorf("file.path: %q is not an absolute path: write for example /run/catchment/disable", p.Path))
	}
	if p.MaxAge < 0 {
		errs = append(errs, fmt.Errorf("file.max_age: %v is below zero: write for example 60s", p.MaxAge))
	}
	if p.MaxAge > 0 && !p.Present {
		errs = append(errs, errors.New("file.max_age: a disable file counts however old it is: write present: true, or leave max_age out"))
	}
	return &target{probe: p.attempt}, errs
}

func (p *fileProbe) attempt(ctx context.Context) error {
	return p.alone.do(ctx, 0, func() error { return p.look(time.Now()) })
}

// look judges the file. An error other than "there is none" is a failure either
// way: who cannot look does not know.
func (p *fileProbe) look(now time.Time) error {
	info, err := os.Stat(p.Path)
	absent := errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
	switch {
	case err != nil && !absent:
		return fmt.Errorf("cannot look at %s: %s", p.Path, explain(err))
	case p.Present && absent:
		return fmt.Errorf("%s does not exist", p.Path)
	case p.Present:
		return p.checkAge(now.Sub(info.ModTime()))
	case absent:
		return nil
	}
	if reason := firstLine(p.Path, info); reason != "" {
		return fmt.Errorf("disabled by %s: %s", p.Path, reason)
	}
	return fmt.Errorf("disabled by %s", p.Path)
}

func (p *fileProbe) checkAge(age time.Duration) error {
	switch {
	case p.MaxAge == 0:
		return nil
	case age > p.MaxAge:
		return fmt.Errorf("%s was written %v ago, want %v or less", p.Path, age.Round(time.Millisecond), p.MaxAge)
	case age < -p.MaxAge:
		return fmt.Errorf("%s was written %v in the future: set the clock", p.Path, (-age).Round(time.Millisecond))
	}
	return nil
}

// firstLine is the first line of a regular file, if it can be read. Opening is
// non-blocking: something else may stand there by then.
func firstLine(path string, info fs.FileInfo) string {
	if !info.Mode().IsRegular() {
		return ""
	}
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return ""
	}
	defer f.Close()
	line, _ := bufio.NewReader(io.LimitReader(f, maxReason)).ReadString('\n') // what there is will do
	return plain(line)
}

// plain makes text that came from outside fit for one line of an error.
func plain(text string) string {
	text = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, ""))
	return strings.Join(strings.Fields(text), " ")
}
