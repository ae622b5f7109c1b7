// Package edgecmd is `catchment edge`: what the operator of one edge node sees
// and says.
//
// In go arguments; requests go to the node's local API on its unix socket, and
// the answers to stdout as tables, JSON or YAML. It holds no state and decides
// nothing: what is refused for safety is refused by the node. An empty selection
// never leaves this package.
package edgecmd
