package audit

import (
	"fmt"
	"iter"
)

// CheckRecords checks records outside of a store, such as those of an export: each
// follows from the one before. Of records that do not begin with number 1 the first is
// taken as it is; what was before it tells Pruned of a Verification of that time. The
// error is that of the records.
func CheckRecords(records iter.Seq2[Record, error], anchors ...Anchor) (Verification, error) {
	c := chain{anchors: anchors}
	for r, err := range records {
		if err != nil {
			return Verification{}, err
		}
		if c.number == 0 && r.Number > 1 {
			sum, err := parseHash(r.Hash)
			c.origin.mark = mark{Number: r.Number - 1}
			c.number, c.sum = r.Number, sum
			if err != nil || !c.noted() {
				c.number--
				return c.broken(fmt.Errorf("record %d has another hash than was noted, or none", r.Number)), nil
			}
			continue
		}
		if r.Number != c.number+1 {
			return c.broken(fmt.Errorf("there is no record %d; %d comes instead", c.number+1, r.Number)), nil
		}
		if err := c.follow(r); err != nil {
			return c.broken(err), nil
		}
	}
	return c.whole(), nil
}
