//go:build !race

package fleet

import "time"

// schedules is how many the property test plays.
const schedules = 200

// day is how long the longest test takes, by the clock of its bubble.
const day = 24 * time.Hour
