// Package buildinfo says what this program was built from: version, commit and the commit's date.
//
// In goes what the linker was told (-X, see the Makefile) and, where it was told nothing, what the go command wrote
// into the binary; out comes an [Info]. It asks neither git nor the clock: the same source gives the same answer.
package buildinfo

import (
	"fmt"
	"runtime"
	"runtime/debug"
)

// Set by the linker: -X github.com/catchment-bgp/catchment/internal/buildinfo.version=1.2.3
var version, commit, date string

// unknown is the version of a program that nobody gave one.
const unknown = "dev"

// Info is what a program was built from.
type Info struct {
	// Version is a release's, or what `git describe` said; "dev" where it is not known.
	Version string
	// Commit is the whole hash, with "-dirty" where files were changed; empty: not known.
	Commit string
	// Date is the commit's, not the build's, in RFC 3339 and UTC; empty: not known.
	Date string
}

// Get returns what this program was built from.
func Get() Info {
	built, _ := debug.ReadBuildInfo() // nil where there is none
	return complete(Info{Version: version, Commit: commit, Date: date}, built)
}

// complete fills in what the linker was not told.
func complete(i Info, built *debug.BuildInfo) Info {
	if i.Version == "" {
		i.Version = unknown
		if built != nil && built.Main.Version != "" && built.Main.Version != "(devel)" {
			i.Version = built.Main.Version
		}
	}
	if i.Commit != "" || built == nil {
		return i
	}
	settings := map[string]string{}
	for _, s := range built.Settings {
		settings[s.Key] = s.Value
	}
	i.Commit, i.Date = settings["vcs.revision"], settings["vcs.time"]
	if i.Commit != "" && settings["vcs.modified"] == "true" {
		i.Commit += "-dirty"
	}
	return i
}

// Line is what a program prints of itself, as one line: its name, version, Go and the machine that it is for, and
// commit and date where they are known.
func (i Info) Line(program string) string {
	line := fmt.Sprintf("%s %s %s %s/%s", program, i.Version, runtime.Version(), runtime.GOOS, runtime.GOARCH)
	for _, part := range []struct{ word, value string }{{"commit", i.Commit}, {"of", i.Date}} {
		if part.value != "" {
			line += " " + part.word + " " + part.value
		}
	}
	return line + "\n"
}
