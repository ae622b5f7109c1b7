// Package fleet holds the tests of whole fleets: twenty real edge loops that speak gRPC to the real centre, in one
// process and in virtual time (testing/synctest).
//
// In go verdicts of checks, figures of load, words of operators at the centre's API, cuts, deaths and wrong clocks.
// What is asserted is what each edge told its announcer, at every moment and not only when the test looks. Around the
// loops stand fakes: an announcer that writes down, a host without addresses, a sampler that measures what the test
// says, connections within the process. The package never opens a socket, and needs no root.
package fleet
