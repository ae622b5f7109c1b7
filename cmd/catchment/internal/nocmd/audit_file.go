package nocmd

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/encoding/protojson"

	centralv1 "github.com/catchment-bgp/catchment/api/central/v1"
	"github.com/catchment-bgp/catchment/central/audit"
	"github.com/catchment-bgp/catchment/cmd/catchment/internal/exit"
)

const (
	// exportPart is how many records one call asks for.
	exportPart = 500
	// exportLine is more than a record takes.
	exportLine = 1 << 20
)

func (g *group) exportAudit() *cobra.Command {
	var from uint64
	cmd := verb("export", "All records as lines of JSON, oldest first", "catchment audit export --from 1 > audit.jsonl", func(ctx context.Context, _ []string) error {
		if from == 0 {
			return exit.Usagef("--from 0: records are numbered from 1")
		}
		out := bufio.NewWriter(g.env.Stdout)
		for next := from; ; {
			m, err := call(ctx, g, centralv1.FleetClient.ListAudit, &centralv1.ListAuditRequest{From: next, Limit: exportPart})
			if err != nil {
				return err
			}
			for _, r := range m.GetRecords() {
				line, err := exported(r)
				if err != nil {
					return err
				}
				if _, err := out.Write(line); err != nil {
					return written(err)
				}
				next = r.GetNumber() + 1
			}
			if len(m.GetRecords()) < exportPart {
				return written(out.Flush())
			}
		}
	})
	cmd.Flags().Uint64Var(&from, "from", 1, "begin with this `NUMBER`")
	return cmd
}

// exported is a record as one line. protojson puts blanks where it likes; the same
// record is to be the same line.
func exported(r *centralv1.AuditRecord) ([]byte, error) {
	text, err := protojson.MarshalOptions{UseProtoNames: true}.Marshal(r)
	if err != nil {
		return nil, err
	}
	var line json.RawMessage = text
	if line, err = json.Marshal(line); err != nil {
		return nil, err
	}
	return append(line, '\n'), nil
}

func (g *group) verifyAudit() *cobra.Command {
	var file string
	cmd := verb("verify", "Check the chain of all records", "catchment audit verify", func(ctx context.Context, _ []string) error {
		m, err := g.verification(ctx, file)
		if err != nil {
			return err
		}
		if err := show(g, m, verifyText); err != nil || m.GetOk() {
			return err
		}
		return fmt.Errorf("the audit log is not what was written: record %d: %s", m.GetBrokenAt(), m.GetDetail())
	})
	cmd.Flags().StringVar(&file, "file", "", "check this `FILE`, made by catchment audit export, and ask no centre")
	return cmd
}

func (g *group) verification(ctx context.Context, file string) (*centralv1.VerifyAuditResponse, error) {
	if file == "" {
		return call(ctx, g, centralv1.FleetClient.VerifyAudit, &centralv1.VerifyAuditRequest{})
	}
	f, err := os.Open(file)
	if err != nil {
		return nil, exit.Inputf("%w", err)
	}
	defer f.Close() // it was only read
	v, err := audit.CheckRecords(recordsIn(f))
	if err != nil {
		return nil, exit.Inputf("%s: %w", file, err)
	}
	return &centralv1.VerifyAuditResponse{Ok: v.OK, Records: v.Records, BrokenAt: v.BrokenAt, Detail: v.Detail, Pruned: v.Pruned.Number, HeadHash: v.Head.Hash}, nil
}

// recordsIn reads an export.
func recordsIn(r io.Reader) iter.Seq2[audit.Record, error] {
	return func(yield func(audit.Record, error) bool) {
		lines := bufio.NewScanner(r)
		lines.Buffer(nil, exportLine)
		for n := 1; lines.Scan(); n++ {
			var m centralv1.AuditRecord
			if err := protojson.Unmarshal(lines.Bytes(), &m); err != nil {
				yield(audit.Record{}, fmt.Errorf("line %d is no record: %w", n, err))
				return
			}
			if m.GetAt() == nil || !m.GetAt().IsValid() {
				yield(audit.Record{}, fmt.Errorf("line %d: the record has no time", n))
				return
			}
			entry := audit.Entry{Who: m.GetWho(), Role: m.GetRole(), Method: m.GetMethod(), Target: m.GetTarget(), Reason: m.GetReason(), Ticket: m.GetTicket(),
				Outcome: m.GetOutcome(), Detail: m.GetDetail(), Before: m.GetBefore(), After: m.GetAfter()}
			if !yield(audit.Record{Number: m.GetNumber(), At: m.GetAt().AsTime(), Entry: entry, Hash: m.GetHash()}, nil) {
				return
			}
		}
		if err := lines.Err(); err != nil {
			yield(audit.Record{}, errors.Join(errors.New("a line cannot be read"), err))
		}
	}
}

func verifyText(w io.Writer, m *centralv1.VerifyAuditResponse) {
	if !m.GetOk() {
		return
	}
	fmt.Fprintf(w, "%d records, each as it was written", m.GetRecords())
	if m.GetHeadHash() != "" {
		fmt.Fprintf(w, "; the last is %d, with the hash %s", m.GetPruned()+m.GetRecords(), m.GetHeadHash())
	}
	fmt.Fprintln(w)
	switch {
	case m.GetPrunedHash() != "":
		fmt.Fprintf(w, "records 1 to %d were pruned, at %s; the last of them had the hash %s\n", m.GetPruned(), clock(m.GetPrunedAt()), m.GetPrunedHash())
	case m.GetPruned() > 0:
		fmt.Fprintf(w, "they begin with record %d; what was before is not in the file\n", m.GetPruned()+1)
	}
}
