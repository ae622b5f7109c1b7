package nocmd

import (
	"context"

	"github.com/catchment-bgp/catchment/cmd/catchment/internal/centre"
)

// call asks the centre once.
func call[Req, Resp any](ctx context.Context, g *group, m centre.Method[Req, Resp], request Req) (Resp, error) {
	return centre.Call(ctx, g.Client, m, request)
}
