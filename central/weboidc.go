package central

import (
	"context"
	"errors"
	"net/url"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/catchment-bgp/catchment/central/idp"
)

// oidcLogins sign browsers in by an OpenID provider.
type oidcLogins struct {
	*webLogins
	provider *idp.Provider
}

// Host is the provider's.
func (l oidcLogins) Host() string { return l.provider.Host() }

// Begin returns where to send a browser, and what it has to bring back.
func (l oidcLogins) Begin(ctx context.Context) (address, ticket string, err error) {
	address, t, err := l.provider.Begin(ctx)
	if err != nil {
		return "", "", l.away(err)
	}
	return address, t.String(), nil
}

// End takes the provider's answer for a session. Who is refused is counted and audited like
// who shows a code that is no good.
func (l oidcLogins) End(ctx context.Context, ticket string, answer url.Values) (cookie string, until time.Time, err error) {
	err = l.g.Try(ctx, "SignIn", func() error {
		t, ok := idp.ParseTicket(ticket)
		if !ok {
			return errors.New("this browser has not begun to sign in here, or it was too long ago; sign in once more")
		}
		p, err := l.provider.End(ctx, t, answer)
		if errors.Is(err, idp.ErrAway) {
			return l.away(err)
		}
		if err != nil {
			return err
		}
		cookie, until, err = l.begin(ctx, webDoc{Name: p.Name.String(), Role: p.Role, How: "oidc at " + l.provider.Host()}, time.Now(), change{})
		return failed(err)
	})
	return cookie, until, err
}

// away is what people are told while the provider cannot be asked.
func (l oidcLogins) away(err error) error {
	l.f.log.Warn("nobody can sign in by the provider", "provider", l.provider.Host(), "error", err)
	return status.Errorf(codes.Unavailable, "%v. A code of catchment web login is good all the same", err)
}
