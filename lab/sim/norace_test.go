//go:build !race

package sim

// raced is true under the race detector, where everything takes ten times as long.
const raced = false
