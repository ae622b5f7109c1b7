// Package maintenance says when planned work keeps a node, a neighbour or a
// service out of service.
//
// In go what people typed ([Request]), windows as they are kept ([Window]) and
// the time; out come the occurrences of each window, which of them hold at a
// moment ([Calendar.At]), how far the drain of a target is ([Next]), and the next
// moment at which anything changes. Mails of providers are read by the package
// maintnote below.
//
// A window is a start and a length. The length is real time: a window of four
// hours lasts four hours, whatever clocks do meanwhile. A window that recurs
// starts at the same reading of the clocks in its zone each time ([Resolve] says
// what that means where clocks are set). Every window ends by itself.
//
// The package reads no clock and does no I/O but for the time zones that
// [time.LoadLocation] finds; a command that must not depend on the machine's
// files imports time/tzdata. It grants nothing: whether the fleet can spare what a
// window wants to withdraw is for policy and the centre to say.
package maintenance
