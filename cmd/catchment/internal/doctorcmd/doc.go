// Package doctorcmd is `catchment doctor`: it gathers what is to be known of a node's or
// a centre's machine, has package doctor judge it, and prints that.
//
// In go a configuration file, the kernel's tables and settings, certificates, a running
// daemon, and files or URLs with VRPs and route objects; out come results. It only
// reads: nothing on the machine, and nothing that the daemon does, is changed.
package doctorcmd
