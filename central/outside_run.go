package central

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"

	"github.com/catchment-bgp/catchment/central/bmp"
	"github.com/catchment-bgp/catchment/central/config"
)

// outside is how the fleet is seen, and where the views connect; nil where nothing is
// configured.
type outside struct {
	Outside
	station  *bmp.Station
	listener net.Listener
}

// newOutside opens the address for the views.
func newOutside(c *config.BMP, log *slog.Logger) (o outside, err error) {
	if c == nil {
		return o, nil
	}
	var views []bmp.View
	for _, v := range c.Views {
		views = append(views, bmp.View{Name: v.Name, Address: v.Address, RIB: bmp.RIB(v.Policy)})
		o.Views = append(o.Views, OutsideView{Name: v.Name, Sees: v.Sees})
	}
	if o.listener, err = net.Listen("tcp", c.Listen); err != nil {
		return o, fmt.Errorf("bmp: %w", err)
	}
	o.station = bmp.New(views, log)
	o.Grace, o.Station = c.Grace, o.station
	return o, nil
}

// serve takes the views' connections until ctx ends. Without them the centre goes on:
// who is away is no witness.
func (o outside) serve(ctx context.Context) error {
	if o.station == nil {
		return nil
	}
	if err := o.station.Serve(ctx, o.listener); err != nil && !errors.Is(err, net.ErrClosed) {
		return fmt.Errorf("bmp: %w", err)
	}
	return nil
}
