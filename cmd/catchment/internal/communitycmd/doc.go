// Package communitycmd is `catchment community`: what communities mean, read from
// documents, looked up in both directions, checked and published.
//
// In go files, a whois or REST server's answer, or the fleet's tags that a centre gives
// (--central); out come entries, explanations, findings and texts for others, as tables,
// JSON or YAML. Arrays are never null. It writes no file and changes nothing, at the
// centre neither; what it could not read it says, and it never guesses a meaning.
package communitycmd
