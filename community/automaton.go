package community

import (
	"encoding/binary"
	"fmt"
	"regexp/syntax"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// automaton is a set of numbers as the decimal texts that a deterministic automaton
// accepts: state 0 is the start, a step of -1 leads nowhere. Only numbers up to the
// largest of their place are in it, without leading zeros, and each state leads to one.
type automaton struct {
	next   [][10]int32
	accept []bool
	// bounded is false where the expression had a repetition without end.
	bounded bool
}

// most bounds the states of an automaton, and patientWork the instructions in the sets
// that its states are made of: a hostile ERE ends early, a list of 700 numbers has 3,000.
const (
	most        = 4096
	patientWork = 1 << 14
)

// compile makes an automaton of an ERE, anchored at both ends; nil if it is too
// complex or wrong. Of its texts only numbers up to widest stay.
func compile(expression string, widest uint32) *automaton {
	a := texts(expression)
	if a == nil {
		return nil
	}
	return a.and(numbersUpTo(widest)).trim()
}

// texts is the automaton of all texts of at most longestNumber digits that an ERE
// matches as a whole; nil if it is too complex or wrong.
func texts(expression string) *automaton { return textsOf(expression, longestNumber) }

// textsOf is texts of at most longest digits.
func textsOf(expression string, longest int) *automaton {
	tree, err := syntax.Parse("^("+expression+")$", syntax.POSIX)
	if err != nil {
		return nil
	}
	program, err := syntax.Compile(tree.Simplify())
	if err != nil || len(program.Inst) > most {
		return nil
	}
	a := explore(program, longest)
	if a != nil {
		a.bounded = !endless(tree)
	}
	return a
}

// endless reports whether a tree has a repetition without end.
func endless(tree *syntax.Regexp) bool {
	switch tree.Op {
	case syntax.OpStar, syntax.OpPlus:
		return true
	case syntax.OpRepeat:
		if tree.Max < 0 {
			return true
		}
	}
	return slices.ContainsFunc(tree.Sub, endless)
}

// longestNumber is the number of digits of the largest number.
const longestNumber = 10

// explore makes a program deterministic, for texts of at most longest digits.
func explore(p *syntax.Prog, longest int) *automaton {
	a := &automaton{}
	known := map[string]int32{}
	var sets [][]uint32
	var depth []int
	var key []byte
	add := func(set []uint32, d int) int32 {
		if len(set) == 0 {
			return -1
		}
		key = key[:0]
		for _, pc := range set {
			key = binary.LittleEndian.AppendUint16(key, uint16(pc)) // of at most 4096
		}
		if i, ok := known[string(key)]; ok {
			return i
		}
		i := int32(len(sets))
		known[string(key)] = i
		sets, depth = append(sets, set), append(depth, d)
		a.next, a.accept = append(a.next, none), append(a.accept, slices.ContainsFunc(set, func(pc uint32) bool { return p.Inst[pc].Op == syntax.InstMatch }))
		return i
	}
	// The start is looked at with the empty text's conditions, each later state with
	// those of the end: ^ holds at the start only.
	if add(closure(p, []uint32{uint32(p.Start)}, true), 0) < 0 {
		return a
	}
	work := 0
	for i := 0; i < len(sets); i++ {
		if depth[i] == longest {
			continue
		}
		if work += len(sets[i]); work > patientWork {
			return nil
		}
		for d := range 10 {
			var to []uint32
			for _, pc := range sets[i] {
				if inst := &p.Inst[pc]; isRune(inst.Op) && inst.MatchRune(rune('0'+d)) {
					to = append(to, inst.Out)
				}
			}
			a.next[i][d] = add(closure(p, to, false), depth[i]+1)
			if len(sets) > most {
				return nil
			}
		}
	}
	return a
}

func isRune(op syntax.InstOp) bool {
	return op == syntax.InstRune || op == syntax.InstRune1 || op == syntax.InstRuneAny || op == syntax.InstRuneAnyNotNL
}

// closure is all instructions that are reached without a digit, sorted. $ is taken to
// hold: what follows it can only match the end, as no digit can follow.
func closure(p *syntax.Prog, from []uint32, start bool) []uint32 {
	seen := map[uint32]bool{}
	var out, open []uint32
	open = append(open, from...)
	for len(open) > 0 {
		pc := open[len(open)-1]
		open = open[:len(open)-1]
		if seen[pc] {
			continue
		}
		seen[pc] = true
		switch inst := &p.Inst[pc]; inst.Op {
		case syntax.InstAlt, syntax.InstAltMatch:
			open = append(open, inst.Out, inst.Arg)
		case syntax.InstCapture, syntax.InstNop:
			open = append(open, inst.Out)
		case syntax.InstEmptyWidth:
			begins := syntax.EmptyOp(inst.Arg)&(syntax.EmptyBeginText|syntax.EmptyBeginLine) != 0
			word := syntax.EmptyOp(inst.Arg)&(syntax.EmptyWordBoundary|syntax.EmptyNoWordBoundary) != 0
			if (!begins || start) && !word {
				open = append(open, inst.Out)
			}
		default:
			out = append(out, pc)
		}
	}
	slices.Sort(out)
	return out
}

var none = [10]int32{-1, -1, -1, -1, -1, -1, -1, -1, -1, -1}

// pair is a state of two automata; -1 in the second: it has left.
type pair struct{ a, b int32 }

// and is the automaton of what both accept.
func (a *automaton) and(b *automaton) *automaton {
	out := &automaton{bounded: a.bounded}
	if len(a.next) == 0 || len(b.next) == 0 {
		return out
	}
	known := map[pair]int32{}
	var all []pair
	add := func(p pair) int32 {
		if p.a < 0 || p.b < 0 {
			return -1
		}
		i, ok := known[p]
		if !ok {
			i = int32(len(all))
			known[p] = i
			all = append(all, p)
			out.next, out.accept = append(out.next, none), append(out.accept, a.accept[p.a] && b.accept[p.b])
		}
		return i
	}
	add(pair{})
	for i := 0; i < len(all); i++ {
		for d := range 10 {
			out.next[i][d] = add(pair{a.next[all[i].a][d], b.next[all[i].b][d]})
		}
	}
	return out
}

// trim cuts the steps that lead to no number.
func (a *automaton) trim() *automaton {
	alive := slices.Clone(a.accept)
	for changed := true; changed; {
		changed = false
		for i := range a.next {
			for _, to := range a.next[i] {
				if to >= 0 && alive[to] && !alive[i] {
					alive[i], changed = true, true
				}
			}
		}
	}
	for i := range a.next {
		for d, to := range a.next[i] {
			if to >= 0 && !alive[to] {
				a.next[i][d] = -1
			}
		}
	}
	return a
}

// match walks the digits of n. It allocates nothing.
func (a *automaton) match(n uint32) bool {
	if len(a.next) == 0 {
		return false
	}
	var digits [longestNumber]byte
	i := len(digits)
	for {
		i--
		digits[i] = byte(n % 10)
		if n /= 10; n == 0 {
			break
		}
	}
	state := int32(0)
	for ; i < len(digits); i++ {
		if state = a.next[state][digits[i]]; state < 0 {
			return false
		}
	}
	return a.accept[state]
}

// count is how many numbers are accepted. An automaton of numbers has no cycle that
// leads to one.
func (a *automaton) count() float64 { return a.countTexts(longestNumber) }

// countTexts is how many texts of one to longest digits are accepted.
func (a *automaton) countTexts(longest int) float64 {
	if len(a.next) == 0 {
		return 0
	}
	from := make([]float64, len(a.next))
	from[0] = 1
	total := 0.0
	for range longest {
		to := make([]float64, len(a.next))
		for i, ways := range from {
			if ways == 0 {
				continue
			}
			for _, next := range a.next[i] {
				if next >= 0 {
					to[next] += ways
				}
			}
		}
		for i, ways := range to {
			if a.accept[i] {
				total += ways
			}
		}
		from = to
	}
	return total
}

// meets reports whether both accept some number.
func (a *automaton) meets(b *automaton) bool {
	if len(a.next) == 0 || len(b.next) == 0 {
		return false
	}
	known := map[pair]bool{{}: true}
	open := []pair{{}}
	for len(open) > 0 {
		p := open[len(open)-1]
		open = open[:len(open)-1]
		if a.accept[p.a] && b.accept[p.b] {
			return true
		}
		for d, to := range a.next[p.a] {
			if step := (pair{to, b.next[p.b][d]}); step.a >= 0 && step.b >= 0 && !known[step] {
				known[step] = true
				open = append(open, step)
			}
		}
	}
	return false
}

// covers reports whether a accepts all that b accepts.
func (a *automaton) covers(b *automaton) bool {
	if len(b.next) == 0 {
		return true
	}
	known := map[pair]bool{}
	open := []pair{{0, 0}}
	if len(a.next) == 0 {
		open = []pair{{-1, 0}}
	}
	for len(open) > 0 {
		p := open[len(open)-1]
		open = open[:len(open)-1]
		if known[p] {
			continue
		}
		known[p] = true
		if b.accept[p.b] && (p.a < 0 || !a.accept[p.a]) {
			return false
		}
		for d, to := range b.next[p.b] {
			if to < 0 {
				continue
			}
			step := int32(-1)
			if p.a >= 0 {
				step = a.next[p.a][d]
			}
			open = append(open, pair{step, to})
		}
	}
	return true
}

var (
	upTo16 = sync.OnceValue(func() *automaton { return texts(strings.Join(between(0, 0xFFFF), "|")) })
	upTo32 = sync.OnceValue(func() *automaton { return texts(strings.Join(between(0, 0xFFFFFFFF), "|")) })
)

// numbersUpTo is the automaton of all numbers of a place, without leading zeros.
func numbersUpTo(widest uint32) *automaton {
	if widest == 0xFFFF {
		return upTo16()
	}
	return upTo32()
}

// between is EREs of which one matches each number from lo to hi.
func between(lo, hi uint32) []string {
	var out []string
	for from := uint64(lo); from <= uint64(hi); {
		// The longest run of trailing digits that may be anything from here on.
		step := uint64(1)
		for from%(step*10) == 0 && from+step*10-1 <= uint64(hi) && from > 0 {
			step *= 10
		}
		// And as many of the digit before as fit.
		digit := from / step % 10
		last := digit
		for last < 9 && from+(last-digit+2)*step-1 <= uint64(hi) {
			last++
		}
		free := len(strconv.FormatUint(step, 10)) - 1
		head := ""
		if from/step/10 > 0 {
			head = strconv.FormatUint(from/step/10, 10)
		}
		out = append(out, fmt.Sprintf("%s[%d-%d]%s", head, digit, last, strings.Repeat("[0-9]", free)))
		from += (last - digit + 1) * step
	}
	return out
}
