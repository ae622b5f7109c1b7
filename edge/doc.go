// Package edge is the edge node: one loop owns its state and brings everything
// together.
//
// In go a valid configuration, the results of health checks, whether replies
// find their way back, session events and operators' words. Out go the routes
// that each neighbour shall know (package announcer), the VIPs, a status, the
// last decisions with what led to them, metrics, and one log line per change.
//
// Everything takes the same short way: an event changes what is the case,
// policy.Next decides, Routes renders, Announcer.Set is told. Nothing else
// decides, and nothing but the loop touches the state.
//
// A configuration that cannot be used changes nothing. Whatever fails later is
// tried again, and what was announced stays until then.
package edge
