package topcmd

import (
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// pty is a pseudo terminal and what stands on it. It obeys the sequences that this
// package writes, and none else.
type pty struct {
	master, slave *os.File
	mu            sync.Mutex
	all           string // everything that was written
}

func openPTY(t *testing.T, width, height uint16) *pty {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	fd := int(master.Fd())
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	number, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	slave, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	p := &pty{master: master, slave: slave}
	p.resize(t, width, height)
	done := make(chan struct{})
	go func() {
		defer close(done)
		buf := make([]byte, 64<<10)
		for {
			n, err := unix.Read(fd, buf) // ends with EIO, once nobody has the other side
			if n > 0 {
				p.mu.Lock()
				p.all += string(buf[:n])
				p.mu.Unlock()
			}
			if err != nil && err != unix.EINTR {
				return
			}
		}
	}()
	t.Cleanup(func() {
		_ = slave.Close() // a test may have done so
		<-done
		_ = master.Close()
	})
	return p
}

func (p *pty) resize(t *testing.T, width, height uint16) {
	t.Helper()
	if err := unix.IoctlSetWinsize(int(p.master.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: height, Col: width}); err != nil {
		t.Fatal(err)
	}
}

func (p *pty) written() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.all
}

func (p *pty) press(t *testing.T, keys string) {
	t.Helper()
	if _, err := p.master.WriteString(keys); err != nil {
		t.Fatal(err)
	}
}

var drawn = regexp.MustCompile(`(?s)\x1b\[2J|\x1b\[(\d+);1H(.*?)\x1b\[K`)

// shown are the lines on the screen, without styles.
func (p *pty) shown() string {
	lines := map[int]string{}
	last := 0
	for _, m := range drawn.FindAllStringSubmatch(p.written(), -1) {
		if m[1] == "" {
			clear(lines)
			last = 0
			continue
		}
		n, _ := strconv.Atoi(m[1]) // the expression lets digits in only
		lines[n] = styles.ReplaceAllString(m[2], "")
		last = max(last, n)
	}
	var out strings.Builder
	for i := range last {
		out.WriteString(lines[i+1] + "\n")
	}
	return out.String()
}

// settings are those of the terminal: echo, line by line ...
func (p *pty) settings(t *testing.T) unix.Termios {
	t.Helper()
	s, err := unix.IoctlGetTermios(int(p.master.Fd()), unix.TCGETS)
	if err != nil {
		t.Fatal(err)
	}
	return *s
}

// await polls until the screen shows every text.
func (p *pty) await(t *testing.T, texts ...string) {
	t.Helper()
	eventually(t, func() string {
		for _, text := range texts {
			if !strings.Contains(p.shown(), text) {
				return fmt.Sprintf("%q is not on the screen:\n%s", text, p.shown())
			}
		}
		return ""
	})
}

// awaitLeft waits until the last that was written gives the terminal back.
func (p *pty) awaitLeft(t *testing.T) {
	t.Helper()
	eventually(t, func() string {
		if all := p.written(); !strings.HasSuffix(all, leaveScreen) {
			return fmt.Sprintf("the last that was written is %q", all[max(0, len(all)-60):])
		}
		return ""
	})
}

// eventually polls until check has nothing to say.
func eventually(t *testing.T, check func() string) {
	t.Helper()
	deadline := time.After(patience)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		said := check()
		if said == "" {
			return
		}
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatal(said)
		}
	}
}
