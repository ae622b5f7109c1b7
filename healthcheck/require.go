package healthcheck

import "fmt"

// Met says whether up of a group's total checks satisfy r. A group without
// checks always does: nothing says that the service is dead. Otherwise
//
//   - RequireAll: up = total;
//   - RequireAny: up >= 1;
//   - RequireAtLeast: up >= N, which is never met where N > total;
//   - RequirePercent: up is N per cent of total or more, unrounded: 50 per cent of
//     3 checks are 2.
//
// An unknown mode is as strict as RequireAll.
func (r Require) Met(up, total int) bool {
	if total <= 0 {
		return true
	}
	switch r.Mode {
	case RequireAny:
		return up >= 1
	case RequireAtLeast:
		return up >= r.N
	case RequirePercent:
		return 100*int64(up) >= int64(r.N)*int64(total)
	default:
		return up >= total
	}
}

// String is the requirement in words: "all", "any", "at least 2", "50%".
func (r Require) String() string {
	switch r.Mode {
	case RequireAll:
		return "all"
	case RequireAny:
		return "any"
	case RequireAtLeast:
		return fmt.Sprintf("at least %d", r.N)
	case RequirePercent:
		return fmt.Sprintf("%d%%", r.N)
	default:
		return fmt.Sprintf("unknown requirement %d", r.Mode)
	}
}
