package graph

// box is an area of the picture.
type box struct{ left, top, right, bottom int }

func (b box) overlaps(o box) bool {
	return b.left < o.right && o.left < b.right && b.top < o.bottom && o.top < b.bottom
}

// The size of the words beside lines, and the height that they take, in pixels.
const (
	wordHeight = 14
	wordSize   = 11
)

// around is the area of a word with its middle at a point.
func around(at point, text string) box {
	half := width(text)*wordSize/26 + 2
	return box{at.x - half, at.y - wordHeight/2, at.x + half, at.y + wordHeight/2}
}

// settleWord finds a place on a line where a word covers nothing that is taken, nearest to the middle. There may be none: then
// the line's style and its tooltip have to do.
func settleWord(pieces []piece, text string, taken []box) (box, point, bool) {
	steps := 8 * len(pieces)
	for d := range steps {
		at := steps / 2
		if d%2 == 1 {
			at -= (d + 1) / 2
		} else {
			at += d / 2
		}
		if at < 1 || at >= steps {
			continue
		}
		p := pieces[at/8].at(at % 8)
		area, free := around(p, text), true
		for _, t := range taken {
			free = free && !area.overlaps(t)
		}
		if free {
			return area, p, true
		}
	}
	return box{}, point{}, false
}
