// Package topcmd is `catchment top`: the fleet, or one node, live in a terminal.
//
// In go the statuses that a centre or a node streams, and keys; out come frames, or
// without a terminal one line for each change. What is shown is a function of a model
// and the size of the terminal ([frame]); keys and news make the next model ([model]).
// A terminal that is taken over is given back however the command ends. It asks and
// shows, and never changes anything.
package topcmd
