// Package sim runs the real load controller (package policy) against a model of
// the Internet, in virtual time.
//
// In goes a [Scenario]: sites with links, groups of clients with a demand over
// time and an order of preference among the sites' neighbours, how late routes
// and figures are, who damps, what fails. Out come, for each controller and over
// many seeds, the [Figures] of a run: how long links were over their capacity,
// how much they swung, how often routes changed and what that broke. Beside them
// stands an oracle that knows the future.
//
// A run depends on the scenario, the controller and the seed alone. The package
// opens no socket and no file, and reads no clock.
package sim
