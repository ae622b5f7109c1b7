// Package idp signs people in at an OpenID provider (OpenID Connect Core 1.0), by the
// authorization code flow with PKCE (RFC 7636).
//
// In go the configuration of one provider and, for each sign-in, what the provider sent the
// browser back with; out come the address to send a browser to, and who somebody is, with
// the role that the provider's groups give them. It asks the provider alone, and only when
// somebody signs in: one that is away is asked again at the next sign-in, and stops nothing
// else. It keeps no state of a sign-in (the browser carries the Ticket), and never trusts a
// name that is not one of ours as it stands.
package idp
