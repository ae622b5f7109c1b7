// Package nocmd is what the NOC sees and says: `catchment node`, `maintenance`,
// `fleet`, `audit`, `central`, `pki` and `web`.
//
// In go arguments; requests go to a centre (--central) over gRPC, and the answers
// to stdout as tables, JSON or YAML. `pki` and `central restore` work on files
// alone. It holds no state and decides nothing: what is refused for safety is
// refused by the centre. An empty selection never leaves this package.
package nocmd
