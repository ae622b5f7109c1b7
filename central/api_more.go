package central

import (
	"bufio"
	"context"
	"time"

	"google.golang.org/grpc"

	centralv1 "github.com/catchment-bgp/catchment/api/central/v1"
	"github.com/catchment-bgp/catchment/central/audit"
	"github.com/catchment-bgp/catchment/central/store"
)

func (a *api) CreateJoinToken(ctx context.Context, r *centralv1.CreateJoinTokenRequest) (*centralv1.CreateJoinTokenResponse, error) {
	if a.ca == nil {
		return nil, failed(refusef("pki", "this centre has no CA to join with; configure pki, or issue certificates by catchment pki"))
	}
	var out *centralv1.CreateJoinTokenResponse
	err := a.write(ctx, ask{"CreateJoinToken", r.GetNode(), r.GetReason(), ""}, func(_ *world, by Caller, now time.Time) (change, error) {
		text, t, err := a.ca.NewToken(r.GetNode(), by.Name, r.GetTtl().AsDuration(), now)
		if err != nil {
			return change{}, badInput{err}
		}
		out = &centralv1.CreateJoinTokenResponse{Token: text, Expires: stamp(t.Expires)}
		op, err := put(key(kindToken, t.Hash), t)
		return change{conds: []store.Cond{{Key: op.Key}}, ops: []store.Op{op}, entries: []audit.Entry{{Who: by.Name, Role: by.Role,
			Method: "CreateJoinToken", Target: r.GetNode(), Reason: r.GetReason(), Outcome: audit.Done, Detail: "expires " + t.Expires.UTC().Format(time.RFC3339)}}}, err
	})
	return out, err
}

// backupPart is how much of a backup goes in one message.
const backupPart = 256 << 10

// parts sends what is written to it.
type parts struct {
	stream grpc.ServerStreamingServer[centralv1.BackupPart]
}

// Write sends a part.
func (p parts) Write(b []byte) (int, error) {
	if err := p.stream.Send(&centralv1.BackupPart{Data: append([]byte(nil), b...)}); err != nil {
		return 0, err
	}
	return len(b), nil
}

func (a *api) Backup(_ *centralv1.BackupRequest, stream grpc.ServerStreamingServer[centralv1.BackupPart]) error {
	w := bufio.NewWriterSize(parts{stream}, backupPart)
	if _, err := store.Backup(stream.Context(), a.f.store, w); err != nil {
		return failed(err)
	}
	by := caller(stream.Context())
	err := a.f.commit(stream.Context(), change{entries: []audit.Entry{{Who: by.Name, Role: by.Role, Method: "Backup", Target: "store", Outcome: audit.Done}}})
	if err != nil {
		return failed(err)
	}
	return w.Flush()
}
