// Package router tells in one form what routers of any make say: the paths that they learned by BGP, and their sessions.
//
// In goes text that FRR, BIRD, OpenBGPD, ExaBGP or a catchment-edge node printed, or a way to run commands where such a
// router runs (Open). Out come Paths and Neighbors.
//
//	r, err := router.Open("bird", func(ctx context.Context, command ...string) (string, error) { ... })
//	paths, err := r.Routes(ctx, netip.MustParsePrefix("198.51.100.0/24"))
//
// The package changes nothing at a router and starts nothing itself. It trusts no text: what cannot be read is an error,
// never a panic, and every question has a bound in time and size.
package router
