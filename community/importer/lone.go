package importer

import (
	"strings"
)

// farthest is how many blank lines may be between a value and its meaning.
const farthest = 3

// resolveLone finds the meanings of values that stand alone on a line, each run of them
// by itself: above, below, or, where that cannot be told, for the first one above and
// for the others below.
func (d *document) resolveLone() {
	of := map[int][]int{} // the drafts of a line
	var run []int
	for k := range d.drafts {
		at := d.drafts[k].at
		if d.lines[at].role != roleLone {
			continue
		}
		if len(of[at]) == 0 {
			if n := len(run); n > 0 && !d.sameRun(run[n-1], at) {
				d.resolveRun(run, of)
				run = nil
			}
			run = append(run, at)
		}
		of[at] = append(of[at], k)
	}
	d.resolveRun(run, of)
	kept := d.drafts[:0]
	reported := -1
	for _, e := range d.drafts {
		if e.meaning != "" {
			kept = append(kept, e)
		} else if reported != e.at {
			reported = e.at
			d.problem(e.at, reasonBare)
		}
	}
	d.drafts = kept
}

// sameRun reports whether only a few texts and blank lines are between two lines.
func (d *document) sameRun(a, b int) bool {
	if b-a > 12 {
		return false
	}
	for j := a + 1; j < b; j++ {
		if l := &d.lines[j]; l.role == roleValue || l.level > 0 {
			return false
		}
	}
	return true
}

// isText reports whether a line may be the meaning of a value beside it.
func (d *document) isText(i int) bool {
	if i < 0 || i >= len(d.lines) {
		return false
	}
	l := &d.lines[i]
	return l.role == roleText || l.role == roleTitle && l.level == 0
}

// near returns the next text from i on in a direction, with blank lines between at most;
// -1 if there is none.
func (d *document) near(i, step int) int {
	for j, blanks := i+step, 0; j >= 0 && j < len(d.lines) && blanks <= farthest; j += step {
		if d.lines[j].role == roleBlank {
			blanks++
			continue
		}
		if d.isText(j) {
			return j
		}
		return -1
	}
	return -1
}

func (d *document) resolveRun(run []int, of map[int][]int) {
	if len(run) == 0 {
		return
	}
	last := run[len(run)-1]
	lastHasBelow := d.isText(last+1) || d.near(last, 1) >= 0 && d.near(last, -1) < 0
	firstTitle := d.near(run[0], -1)
	below := lastHasBelow && (firstTitle < 0 || d.isGeneric(firstTitle))
	for n, i := range run {
		if n > 0 && run[n-1] == i-1 { // a list: as the one above
			d.give(of[i], d.drafts[of[run[n-1]][0]].meaning, sureFar)
			continue
		}
		above, under := -1, -1
		if d.isText(i - 1) {
			above = i - 1
		}
		if d.isText(i+1) && !strings.HasSuffix(strings.TrimSpace(d.lines[i+1].text), ":") {
			under = i + 1
		}
		switch {
		case above >= 0 && under >= 0 && (d.isGeneric(above) || below):
			d.take(of[i], sureNear, under)
		case above >= 0 && under >= 0 && lastHasBelow:
			d.take(of[i], sureFar, above, under)
		case above >= 0:
			d.take(of[i], sureNear, above)
		case under >= 0:
			d.take(of[i], sureNear, under)
		default:
			d.takeFar(of[i], i, below)
		}
	}
	d.leftOver(run)
}

// takeFar takes a meaning from beyond blank lines.
func (d *document) takeFar(drafts []int, i int, below bool) {
	above, under := d.near(i, -1), d.near(i, 1)
	if below && under >= 0 || above < 0 {
		above = under
	}
	if above >= 0 {
		d.take(drafts, sureFar, above)
		return
	}
	if text := d.drafts[drafts[0]].section.text; text != "" {
		d.give(drafts, text, sureFar)
	}
}

// take makes lines the meaning of drafts, and nobody else's.
func (d *document) take(drafts []int, sure float64, lines ...int) {
	var parts []string
	for _, i := range lines {
		parts = append(parts, strings.TrimRight(bare(d.lines[i].text), ":"))
		d.lines[i].role = roleMore
	}
	d.give(drafts, strings.Join(parts, ": "), sure)
}

func (d *document) give(drafts []int, meaning string, sure float64) {
	for _, k := range drafts {
		d.drafts[k].meaning, d.drafts[k].sure = squeeze(meaning), sure
	}
}

// isGeneric reports whether a line is a heading that says no more than that communities
// follow.
func (d *document) isGeneric(i int) bool {
	text := bare(d.lines[i].text)
	words := d.words.read(text)
	if !hasFlag(words, fCommunity) {
		return false
	}
	for _, w := range words {
		if w.has(hAction|hInfo|fCommunity|fLabel|fForm|fFor|fTo|fCustomer) || len(w.text) < 4 {
			continue
		}
		return strings.HasSuffix(text, ":")
	}
	return true
}

// leftOver reports texts between the values of a run that became nobody's meaning.
func (d *document) leftOver(run []int) {
	for n := 1; n < len(run); n++ {
		for j := run[n-1] + 1; j < run[n]; j++ {
			if d.lines[j].role == roleText || d.lines[j].role == roleTitle && headingKind(d.words.read(d.lines[j].text)) == "" {
				d.problem(j, "a text between values that belongs to none of them")
			}
		}
	}
}

// findTrees gives entries that are indented below another one that one's meaning as their
// parent, where at least two stand side by side.
func (d *document) findTrees() {
	type node struct{ draft, depth int }
	var open []node
	var children = map[int][]int{}
	lastLine := -2
	for k := range d.drafts {
		e := &d.drafts[k]
		if e.at == lastLine {
			continue
		}
		if e.at != lastLine+1 {
			open = open[:0]
		}
		lastLine = e.at
		depth := d.lines[e.at].indent + d.lines[e.at].gap
		for len(open) > 0 && open[len(open)-1].depth >= depth {
			open = open[:len(open)-1]
		}
		if n := len(open); n > 0 && d.lines[d.drafts[open[n-1].draft].at].gap > 0 == (d.lines[e.at].gap > 0) {
			children[open[n-1].draft] = append(children[open[n-1].draft], k)
		}
		open = append(open, node{k, depth})
	}
	for parent, kids := range children {
		words := d.words.read(d.drafts[parent].meaning)
		if len(kids) < 2 || len(words) == 0 || words[0].has(fAll) || len(words) > 6 {
			continue
		}
		for _, k := range kids {
			d.drafts[k].parent = d.drafts[parent].meaning
		}
	}
}
