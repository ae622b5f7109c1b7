package topcmd

import (
	"fmt"
	"strings"
	"testing"
)

func names(rows []row) string {
	var out []string
	for _, r := range rows {
		out = append(out, r.name)
	}
	return strings.Join(out, " ")
}

func TestRowsStandInTheOrderAskedFor(t *testing.T) {
	m := fleetModel()
	for _, want := range []string{"old msk1 msk2 spb1 東京1", "msk1 msk2 old spb1 東京1", "spb1 msk1 東京1 msk2 old", "msk2 old spb1 msk1 東京1", "old msk1 msk2 spb1 東京1"} {
		if got := names(m.visible()); got != want {
			t.Errorf("by %s: %s, want %s", m.order, got, want)
		}
		m.press("s")
	}
}

func TestTheSelectedRowStaysSelected(t *testing.T) {
	m := press(fleetModel(), "j", "j") // old, msk1, msk2
	if rows := m.visible(); rows[m.index(rows)].name != "msk2" {
		t.Fatalf("%s is selected", rows[m.index(rows)].name)
	}
	press(m, "s", "s")
	if rows := m.visible(); rows[m.index(rows)].name != "msk2" {
		t.Errorf("after sorting %s is selected", rows[m.index(rows)].name)
	}
	b := m.board
	b.rows = b.rows[:1]
	m.feed(b)
	if rows := m.visible(); rows[m.index(rows)].name != "msk1" {
		t.Errorf("when its row is gone %s is selected", rows[m.index(rows)].name)
	}
	m.feed(board{})
	press(m, "j", keyEnter, "G")
	if m.index(m.visible()) != -1 || m.detail {
		t.Error("without rows something is selected")
	}
}

func TestPausedNewsWait(t *testing.T) {
	m := press(fleetModel(), "p")
	m.feed(board{summary: "one"})
	m.feed(board{summary: "two"})
	if m.board.summary == "two" || m.news != 2 {
		t.Errorf("paused, it shows %q, and %d news", m.board.summary, m.news)
	}
	m.press("p")
	if m.board.summary != "two" || m.news != 0 {
		t.Errorf("after the pause it shows %q, and %d news", m.board.summary, m.news)
	}
}

func TestKeysThatQuit(t *testing.T) {
	for _, tt := range []struct {
		before []key
		last   key
		quit   bool
	}{
		{nil, "q", true}, {nil, keyInterrupt, true}, {[]key{"/"}, "q", false}, {[]key{"/"}, keyInterrupt, true},
		{[]key{"?"}, "q", true}, {[]key{"?"}, "j", false}, {[]key{keyEnter}, "q", true}, {nil, keyEscape, false},
	} {
		if got := press(fleetModel(), tt.before...).press(tt.last); got != tt.quit {
			t.Errorf("%v, then %s: quit is %t", tt.before, tt.last, got)
		}
	}
}

func TestEscapeLeavesWhatIsOnTop(t *testing.T) {
	m := press(fleetModel(), "/", "s", "p", keyEnter, keyEnter)
	if !m.detail || m.filter != "sp" {
		t.Fatalf("detail %t, filter %q", m.detail, m.filter)
	}
	m.press(keyEscape)
	if m.detail || m.filter != "sp" {
		t.Errorf("once: detail %t, filter %q", m.detail, m.filter)
	}
	m.press(keyEscape)
	if m.filter != "" {
		t.Errorf("twice: filter %q", m.filter)
	}
}

func TestFilterIsBounded(t *testing.T) {
	m := press(fleetModel(), "/")
	for range 200 {
		m.press("東")
	}
	if len(m.filter) > longestFilter || m.filter == "" {
		t.Errorf("the filter has %d octets", len(m.filter))
	}
	for range 200 {
		m.press(keyBackspace)
	}
	if m.filter != "" {
		t.Errorf("%q is left", m.filter)
	}
}

func TestKeysAreReadFromWhatTerminalsSend(t *testing.T) {
	for in, want := range map[string][]key{
		"q": {"q"}, "\x1b": {keyEscape}, "\x1b[A": {keyUp}, "\x1bOB": {keyDown}, "\x1b[5~\x1b[6~": {keyPageUp, keyPageDown},
		"\x1b[1;5A": nil, "\x1b[": nil, "\r\n": {keyEnter, keyEnter}, "\x7f\x08": {keyBackspace, keyBackspace}, "\x03": {keyInterrupt},
		"東é": {"東", "é"}, "\xff\x01": nil, "\x1bq": {keyEscape, "q"}, "\x1b[H\x1b[F\x1b[1~": {keyHome, keyEnd, keyHome},
	} {
		if got := decode([]byte(in)); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%q: %v, want %v", in, got, want)
		}
	}
}

func TestAPieceOfASequenceIsKnown(t *testing.T) {
	for in, want := range map[string]bool{"\x1b": true, "\x1b[": true, "\x1b[1;": true, "\x1b[A": false, "q": false, "": false, "\x1bq": false, "\x1bO": true} {
		if got := unfinished([]byte(in)); got != want {
			t.Errorf("%q: %t", in, got)
		}
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte("\x1b[A\x1b[5~q\xff"))
	f.Fuzz(func(t *testing.T, in []byte) {
		m := fleetModel()
		for _, k := range decode(in) {
			if k == "" {
				t.Fatal("an empty key")
			}
			m.press(k)
		}
		if lines := frame(m, 80, 24); len(lines) != 24 {
			t.Fatalf("%d lines", len(lines))
		}
	})
}
