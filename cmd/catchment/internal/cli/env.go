// Package cli runs a tree of cobra commands as the contract of catchment's
// command line has it: data on stdout, messages on stderr, and an exit code.
//
// In go a root command, its arguments and the surroundings ([Env]); out comes
// the code. The package never ends the process and never reads a flag itself.
package cli

import (
	"io"
	"os"
	"time"
)

// Env is what a command may know of its surroundings, so that tests can say it.
type Env struct {
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	Getenv         func(string) string
	Now            func() time.Time
	// Terminal says that Stdout is a terminal that obeys escape sequences.
	Terminal bool
}

// NewEnv returns the surroundings of this process around three streams.
func NewEnv(stdin io.Reader, stdout, stderr io.Writer) *Env {
	return &Env{
		Stdin: stdin, Stdout: stdout, Stderr: stderr,
		Getenv: os.Getenv, Now: time.Now,
		Terminal: isTerminal(stdout) && os.Getenv("TERM") != "dumb",
	}
}

// Coloured reports whether tables may have colours: on a terminal, unless
// NO_COLOR is set to anything (https://no-color.org).
func (e *Env) Coloured() bool { return e.Terminal && e.Getenv("NO_COLOR") == "" }

// isTerminal takes any character device for a terminal. /dev/null is one too;
// nobody sees escape sequences there.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}
