package edge

import (
	"context"
	"path/filepath"
	"time"

	"github.com/catchment-bgp/catchment/announcer/host"
	"github.com/catchment-bgp/catchment/edge/config"
)

// LeaveTime is how long a node may take to leave at most: what a service manager
// must wait before it kills the process.
func LeaveTime(c *config.Config) time.Duration {
	return settleTime + c.LeaveHold + closeTime + writeTime
}

// leave is the end of an orderly run: withdraw, wait until that is on the wire,
// hold, take the VIPs away, then the return paths, since replies leave by them
// until then, end the sessions.
func (e *Edge) leave() {
	e.log.Info("leaving: withdrawing all routes")
	if e.opt.Supervisor != nil {
		e.opt.Supervisor.Stopping("leaving: withdrawing all routes")
	}
	e.drop()
	for _, n := range e.cfg.Neighbors {
		if err := e.opt.Announcer.Set(n.Name, nil); err != nil {
			e.log.Error("withdraw", "neighbor", n.Name, "error", err)
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), settleTime)
	if err := e.opt.Announcer.Settle(ctx); err != nil {
		e.log.Error("not all withdrawals were sent; ending the sessions withdraws the rest", "error", err)
	}
	cancel()
	time.Sleep(e.cfg.LeaveHold)
	if err := e.opt.VIPs.Set(nil); err != nil {
		e.log.Error("VIPs could not be taken away", "error", err)
	}
	if err := e.opt.Returns.Set(host.Returns{}); err != nil {
		e.log.Error("return paths could not be taken away", "error", err)
	}
	ctx, cancel = context.WithTimeout(context.Background(), closeTime)
	defer cancel()
	e.opt.Announcer.Close(ctx, "catchment: node "+e.cfg.Node+" leaves")
	if err := e.opt.Defaults.Set(nil); err != nil {
		e.log.Error("default routes could not be taken away", "error", err)
	}
	e.store.save(e.stored())
	ctx, cancel = context.WithTimeout(context.Background(), writeTime)
	defer cancel()
	if err := e.free(ctx); err != nil {
		e.log.Error("close", "error", err)
	}
	e.log.Info("left")
}

func (e *Edge) logWarnings() {
	for _, w := range e.warnings {
		e.log.Warn("configuration", "warning", w.String(), "file", filepath.Base(w.File))
	}
}
