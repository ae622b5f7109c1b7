package central

import (
	"context"
	"time"
)

// prunes removes audit records that are older than the settings have them kept.
func (f *Fleet) prunes(ctx context.Context) {
	keep := f.settings.AuditKeep
	for keep > 0 && pause(ctx, pruneEvery) {
		now := time.Now()
		if !f.leads(now) {
			continue
		}
		n, err := f.audit.Prune(ctx, now.Add(-keep), "audit.keep is "+keep.String())
		f.meters.pruned.Add(float64(n))
		switch {
		case err != nil && ctx.Err() == nil:
			f.log.Warn("old audit records cannot be removed", "removed", n, "error", err)
		case n > 0:
			f.log.Info("old audit records are removed", "removed", n, "older_than", keep)
		}
	}
}
