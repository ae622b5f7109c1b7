package doctor

import (
	"net/netip"
	"time"

	"github.com/catchment-bgp/catchment/edge/config"
)

// Node is what was found on a node's machine.
type Node struct {
	Now  time.Time
	File string // of the configuration
	// Config is nil where the file cannot be used; Problem says why, a line each.
	Config   *config.Config
	Problem  string
	Warnings []string
	// Unset are the variables that the file names and that are neither in the
	// environment nor in EnvFile.
	Unset   []string
	EnvFile string

	// VRPs and Routes are nil where nobody asked for them.
	VRPs       []VRP
	VRPSource  string
	VRPProblem string
	Routes     []RouteObject
	IRRSource  string
	IRRProblem string

	// Sysctls by their name with dots; what cannot be read is missing.
	Sysctls    map[string]string
	Interfaces []Interface
	// Claimed are the addresses with catchment's mark; nil where that cannot be read.
	Claimed []netip.Prefix
	// WayBack4 and WayBack6 tell whether there is a default route, or a full view.
	WayBack4, WayBack6 bool
	WayBackProblem     string
	// Paths are the kernel's ways to the neighbours, by name.
	Paths map[string]Path
	Clock Clock
	// Files by path: state_dir, passwords, the socket, certificates' keys.
	Files map[string]File
	// User is whom the daemon runs as; empty: not known.
	User string
	// Unit is the text of the systemd unit; empty: there is none.
	Unit   string
	Daemon Daemon
	// Certs are those of central:, by file.
	Certs map[string]Cert
}

// Interface is one of the machine's.
type Interface struct {
	Name      string
	Up        bool
	Addresses []netip.Prefix
}

// Path is the way that packets to an address take.
type Path struct {
	Interface string
	Gateway   netip.Addr // invalid: on the link
	Source    netip.Addr // that the kernel would choose
	Problem   string     // why there is no way
}

// Clock is what the kernel says of the wall clock.
type Clock struct {
	Synchronised bool
	Problem      string // it cannot be asked
}

// File is a file or a folder.
type File struct {
	Exists bool
	Dir    bool
	Mode   uint32 // permission bits
	// Readable and Writable are for User.
	Readable, Writable bool
	Problem            string // it cannot be looked at
}

// Daemon is the catchment-edge that runs, if one does.
type Daemon struct {
	Running bool
	Problem string // why it does not answer
	Node    string
	Version string
	// Installed is the version of the program that a restart would start; empty: not
	// known. Replaced is set if the file was replaced since the start.
	Installed string
	Replaced  bool
	// Capabilities is its effective set; NoFile how many descriptors it may have, 0:
	// not known.
	Capabilities      uint64
	KnowsCapabilities bool
	NoFile            uint64
	// Changes are what neighbours would see of a reload of the file; Planned that it was asked.
	Changes []string
	Planned bool
	// Differences are the parts of the configuration that a reload would change; Compared
	// that the daemon looks for them: one of an older version does not.
	Differences []string
	Compared    bool
	PlanProblem string
	Trial       bool // a configuration waits to be confirmed
	Warnings    []string
	// Announced are the services that are announced or steered.
	Announced map[string]bool
	// Down are the neighbours whose session is not up, with why.
	Down []string
}

// Cert is one certificate.
type Cert struct {
	Name     string // the SPIFFE name; of a CA its domain
	CA       bool
	Hosts    []string
	NotAfter time.Time
	Problem  string // it cannot be read or is not good now
}
