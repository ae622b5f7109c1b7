package pages

import (
	"bufio"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// Shell is a bash that stays, so that what one command sets the next one has. It is for one
// goroutine.
type Shell struct {
	dir   string
	cmd   *exec.Cmd
	in    io.WriteCloser
	out   *bufio.Reader
	ended bool
}

// NewShell starts one in a folder, with programs of ours from another folder before those
// of the machine. It ends with the context, with all that it started.
func NewShell(ctx context.Context, dir, programs string) (*Shell, error) {
	cmd := exec.CommandContext(ctx, "bash", "--norc", "--noprofile")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "PATH="+programs+":"+os.Getenv("PATH"), "LC_ALL=C.UTF-8")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 5 * time.Second
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	cmd.Stderr = cmd.Stdout
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	return &Shell{dir: dir, cmd: cmd, in: in, out: bufio.NewReader(out)}, nil
}

// Do runs a command and returns what it printed, on both outputs, and its exit code. An
// error is that the shell is gone.
func (s *Shell) Do(line string) (string, int, error) {
	mark := rand.Text()
	if _, err := fmt.Fprintf(s.in, "{ %s\n} </dev/null\necho \"\n%s $?\"\n", line, mark); err != nil {
		return "", 0, fmt.Errorf("the shell has ended: %w", err)
	}
	var printed strings.Builder
	for {
		text, err := s.out.ReadString('\n')
		if err != nil {
			return printed.String(), 0, fmt.Errorf("the shell has ended: %w", err)
		}
		if rest, ok := strings.CutPrefix(text, mark+" "); ok {
			code := 0
			_, err := fmt.Sscan(rest, &code)
			// The mark has a line of its own: the end of the line before it is ours.
			return strings.TrimSuffix(printed.String(), "\n"), code, err
		}
		printed.WriteString(text)
	}
}

// Run is [Shell.Do] for a [Player].
func (s *Shell) Run(c Command) (string, error) {
	out, _, err := s.Do(c.Line)
	return out, err
}

// Write puts a text into a file below the folder in which the shell began.
func (s *Shell) Write(file, text string) error {
	if !filepath.IsLocal(file) {
		return fmt.Errorf("%s is not below the folder of the test", file)
	}
	path := filepath.Join(s.dir, file)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(text), 0o644)
}

// Close ends the shell and waits for it.
func (s *Shell) Close() error {
	if s.ended {
		return nil
	}
	s.ended = true
	return errors.Join(s.in.Close(), s.cmd.Wait())
}
