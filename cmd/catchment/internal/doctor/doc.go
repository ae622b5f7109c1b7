// Package doctor judges what was found on a machine: it is the checks of `catchment
// doctor`.
//
// In go facts that were gathered elsewhere ([Node], [Centre]), and readers of VRPs and
// of route objects; out come results, each with what was found and, where something
// is wrong, what mends it. The judgement is a function of its facts: it asks no
// kernel, no network and no clock.
package doctor
