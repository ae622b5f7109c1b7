package nocmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	centralv1 "github.com/catchment-bgp/catchment/api/central/v1"
	"github.com/catchment-bgp/catchment/central/store"
	"github.com/catchment-bgp/catchment/cmd/catchment/internal/cli"
	"github.com/catchment-bgp/catchment/cmd/catchment/internal/exit"
	"github.com/catchment-bgp/catchment/cmd/catchment/internal/output"
)

func (g *group) audit() *cobra.Command {
	return g.holder("audit", "Who did what, and was it written down rightly", "The audit log has every change and every refusal, in a chain of hashes.",
		g.listAudit(), g.exportAudit(), g.verifyAudit())
}

func (g *group) listAudit() *cobra.Command {
	var r centralv1.ListAuditRequest
	cmd := verb("list", "The last records, newest first", "catchment audit list --target msk1", func(ctx context.Context, _ []string) error {
		all := []*centralv1.AuditRecord{}
		for want := r.GetLimit(); ; { // an answer has exportPart at least, if there are as many
			r.Limit = min(want-int32(len(all)), exportPart)
			m, err := call(ctx, g, centralv1.FleetClient.ListAudit, &r)
			if err != nil {
				return err
			}
			all = append(all, m.GetRecords()...)
			if len(m.GetRecords()) < int(r.GetLimit()) || len(all) >= int(want) {
				return list(g, all, auditTable)
			}
			r.Before = all[len(all)-1].GetNumber()
		}
	})
	f := cmd.Flags()
	f.Int32VarP(&r.Limit, "limit", "n", 100, "how many (`N`) records")
	f.StringVar(&r.Who, "who", "", "only of a caller (`NAME`)")
	f.StringVar(&r.Target, "target", "", "only about `WHAT`")
	f.Uint64Var(&r.Before, "before", 0, "only those with a lower `NUMBER`")
	return cmd
}

func auditTable(w io.Writer, all []*centralv1.AuditRecord) {
	if len(all) == 0 {
		fmt.Fprintln(w, "no records")
		return
	}
	grid := output.Grid{Titles: []string{"NUMBER", "AT", "WHO", "METHOD", "TARGET", "OUTCOME", "REASON", "TICKET", "DETAIL"}}
	for _, r := range all {
		grid.Row(cells(fmt.Sprint(r.GetNumber()), clock(r.GetAt()), r.GetWho(), r.GetMethod(), r.GetTarget(), r.GetOutcome(), r.GetReason(), r.GetTicket(), r.GetDetail())...)
	}
	_ = grid.Write(w) // a buffer takes everything
}

func (g *group) central() *cobra.Command {
	return cli.Group("central", "Keep and bring back what a centre holds", "A backup is one file. It is restored into a new folder, with the centre stopped.",
		verb("backup FILE", "Write all that the centre holds to a new file", "catchment central backup /var/backups/central.jsonl", g.backup),
		g.restore())
}

// backup never overwrites, and leaves no half of a backup behind.
func (g *group) backup(ctx context.Context, args []string) (err error) {
	conn, err := g.Connect()
	if err != nil {
		return err
	}
	defer conn.Close() // fails only when closed before
	f, err := os.OpenFile(args[0], os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return exit.Inputf("%w", err)
	}
	defer func() {
		if err = errors.Join(err, f.Close()); err != nil {
			err = errors.Join(err, os.Remove(args[0]))
		}
	}()
	stream, err := centralv1.NewFleetClient(conn).Backup(ctx, &centralv1.BackupRequest{})
	if err != nil {
		return g.Explain(ctx, err)
	}
	for {
		part, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			if status.Code(err) == codes.Canceled {
				return errors.New("interrupted")
			}
			return g.Explain(ctx, err)
		}
		if _, err := f.Write(part.GetData()); err != nil {
			return err
		}
	}
	return f.Sync()
}

func (g *group) restore() *cobra.Command {
	var dir string
	cmd := verb("restore FILE", "Make a centre's folder from a backup", "catchment central restore /var/backups/central.jsonl --data /var/lib/catchment-central/store", func(ctx context.Context, args []string) error {
		if dir == "" {
			return exit.Usagef("--data FOLDER is needed: an empty one, or one to be made")
		}
		f, err := os.Open(args[0])
		if err != nil {
			return exit.Inputf("%w", err)
		}
		defer f.Close() // it was only read
		return store.Restore(ctx, dir, f, store.Options{})
	})
	cmd.Flags().StringVar(&dir, "data", "", "`FOLDER` of the centre's store (needed)")
	return cmd
}
