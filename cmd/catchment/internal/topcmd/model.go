package topcmd

import (
	"cmp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// model is everything that a frame is made of.
type model struct {
	title    string // until there is a board
	board    board
	fed      bool
	news     int    // boards that came while it was paused
	next     board  // the last of those
	away     string // why there is no news; empty: there is
	since    time.Time
	now      time.Time
	selected string // key of a row; empty: the first
	order    order
	filter   string
	coloured bool
	typing   bool // of the filter
	paused   bool
	help     bool
	detail   bool
	scroll   int // lines of the detail that are above the frame
}

// order of the rows.
type order int

const (
	byGroup order = iota
	byName
	byLoad
	byState
	orders
)

// String names an order in the footer.
func (o order) String() string { return [...]string{"group", "name", "load", "state"}[o] }

// feed takes news in.
func (m *model) feed(b board) {
	m.away = ""
	if m.paused && m.fed {
		m.next = b
		m.news++
		return
	}
	m.board, m.fed, m.news = b, true, 0
}

// lose says why there is no news any more.
func (m *model) lose(why string, at time.Time) {
	if m.away == "" {
		m.since = at
	}
	m.away = why
}

// visible are the rows that pass the filter, in their order.
func (m *model) visible() []row {
	var out []row
	want := strings.ToLower(m.filter)
	for _, r := range m.board.rows {
		if strings.Contains(strings.ToLower(strings.Join([]string{r.name, r.group, r.state, r.extra, r.reason}, "\n")), want) {
			out = append(out, r)
		}
	}
	slices.SortStableFunc(out, func(a, b row) int {
		var first int
		switch m.order {
		case byGroup:
			first = cmp.Compare(a.group, b.group)
		case byLoad:
			first = cmp.Compare(b.load.value, a.load.value)
		case byState:
			first = cmp.Compare(rank(a.state), rank(b.state))
		}
		return cmp.Or(first, cmp.Compare(a.name, b.name), cmp.Compare(a.group, b.group))
	})
	return out
}

// index is where the selected row is: the first where it is gone; -1 without rows.
func (m *model) index(rows []row) int {
	if len(rows) == 0 {
		return -1
	}
	return max(0, slices.IndexFunc(rows, func(r row) bool { return r.key() == m.selected }))
}

// press is what a key does; quit ends the command.
func (m *model) press(k key) (quit bool) {
	switch {
	case k == keyInterrupt:
		return true
	case m.typing:
		m.edit(k)
		return false
	case m.help:
		m.help = false // whatever the key is
		return k == "q"
	}
	switch k {
	case "q":
		return true
	case "?", "h":
		m.help = true
	case "s":
		m.order = (m.order + 1) % orders
	case "/":
		m.typing, m.detail = true, false
	case "p", " ":
		m.pause()
	case keyEscape:
		m.back()
	case keyEnter:
		m.detail, m.scroll = !m.detail && m.index(m.visible()) >= 0, 0
	default:
		m.move(k)
	}
	return false
}

// back leaves what is on top.
func (m *model) back() {
	if m.detail {
		m.detail = false
		return
	}
	m.filter = ""
}

func (m *model) pause() {
	m.paused = !m.paused
	if !m.paused && m.news > 0 {
		m.board, m.next, m.news = m.next, board{}, 0
	}
}

// longestFilter is in octets.
const longestFilter = 100

// edit changes the filter.
func (m *model) edit(k key) {
	switch k {
	case keyEnter:
		m.typing = false
	case keyEscape:
		m.typing, m.filter = false, ""
	case keyBackspace:
		_, size := utf8.DecodeLastRuneInString(m.filter)
		m.filter = m.filter[:len(m.filter)-size]
	default:
		if utf8.RuneCountInString(string(k)) == 1 && len(m.filter)+len(k) <= longestFilter {
			m.filter += string(k)
		}
	}
}

// steps are how far the keys go; the page is the same on every terminal.
var steps = map[key]int{"j": 1, keyDown: 1, "k": -1, keyUp: -1, keyPageDown: 10, keyPageUp: -10, "g": -1 << 20, keyHome: -1 << 20, "G": 1 << 20, keyEnd: 1 << 20}

// move moves the selection, or the detail under its frame.
func (m *model) move(k key) {
	rows := m.visible()
	at := m.index(rows)
	if at < 0 {
		return
	}
	if m.detail {
		m.scroll = min(max(m.scroll+steps[k], 0), max(len(rows[at].more)-1, 0))
		return
	}
	m.selected = rows[min(max(at+steps[k], 0), len(rows)-1)].key()
}
