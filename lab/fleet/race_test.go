//go:build race

package fleet

import "time"

// schedules is how many the property test plays; with the race detector each takes
// several times as long.
const schedules = 30

// day is how long the longest test takes, by the clock of its bubble.
const day = 3 * time.Hour
