package maintenance

import (
	"sync"
	"time"
)

// checkedMost bounds how many rules are remembered: more than a fleet's windows have.
const checkedMost = 4096

// checked remembers what checkRule found. It walks over years of a rule, and a window
// is read again each time that somebody asks what it says of a moment.
var checked = struct {
	sync.Mutex
	of map[ruled]error
}{of: map[ruled]error{}}

// ruled is all that checkRule goes by.
type ruled struct {
	rule, first string
	takes       time.Duration
}

// ruleFault is checkRule, once for each rule.
func (p plan) ruleFault() error {
	k := ruled{rule: p.Rule, first: Wall(p.Start, p.zone).Format(time.RFC3339Nano), takes: (p.For + p.Lead).Std()}
	checked.Lock()
	err, known := checked.of[k]
	checked.Unlock()
	if known {
		return err
	}
	err = p.checkRule()
	checked.Lock()
	defer checked.Unlock()
	if len(checked.of) >= checkedMost {
		clear(checked.of)
	}
	checked.of[k] = err
	return err
}
