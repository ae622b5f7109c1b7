package output

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"
)

// Subject is something that a watch has a line about. Its text has no clock time and
// no figure that moves by itself, so that it changes with news only.
type Subject struct{ Name, Text string }

// Changes writes one line, with the time in UTC, for each subject that is not as it
// was.
type Changes struct {
	W     io.Writer
	Now   func() time.Time
	known map[string]string
}

// Show takes all subjects there are: one that is missing is gone.
func (c *Changes) Show(all []Subject) error {
	var out bytes.Buffer
	stamp := c.Now().UTC().Format(time.RFC3339)
	known := map[string]string{}
	for _, s := range all {
		known[s.Name] = s.Text
		if c.known[s.Name] != s.Text {
			fmt.Fprintf(&out, "%s %s: %s\n", stamp, s.Name, s.Text)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.known)) {
		if _, ok := known[name]; !ok {
			fmt.Fprintf(&out, "%s %s: gone\n", stamp, name)
		}
	}
	c.known = known
	_, err := c.W.Write(out.Bytes())
	return err
}
