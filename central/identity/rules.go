package identity

import (
	"google.golang.org/protobuf/proto"

	centralv1 "github.com/catchment-bgp/catchment/api/central/v1"
)

// Rule says who may call a method.
type Rule struct {
	// Least is the role that a caller needs. EdgeRole is for edges only.
	Least Role
	// Anyone may call the method, with or without a certificate.
	Anyone bool
	// Writes says that the method changes something: it goes into the audit log.
	Writes bool
	// Streams says that a call may last; others end after callTime.
	Streams bool
	// Speaker returns the node for which a message speaks; "": none. An edge may
	// speak only for itself.
	Speaker func(proto.Message) string
}

const (
	edgesAt       = "/catchment.central.v1.Edges/"
	fleetAt       = "/catchment.central.v1.Fleet/"
	healthAt      = "/grpc.health.v1.Health/"
	reflectionAt  = "/grpc.reflection.v1.ServerReflection/"
	reflectionOld = "/grpc.reflection.v1alpha.ServerReflection/"
)

// Rules has the rule of every method of every service, by its full name. There is
// no default: what does not stand here is refused.
func Rules() map[string]Rule {
	read, write, admin := Rule{Least: Viewer}, Rule{Least: Operator, Writes: true}, Rule{Least: Admin, Writes: true}
	watch := Rule{Least: Viewer, Streams: true}
	return map[string]Rule{
		edgesAt + "Connect": {Least: EdgeRole, Streams: true, Speaker: helloNode},
		edgesAt + "Join":    {Anyone: true, Writes: true}, // the token decides

		fleetAt + "ListNodes":     read,
		fleetAt + "GetNode":       read,
		fleetAt + "GetNodeDetail": read,
		fleetAt + "TagNode":       write,
		fleetAt + "UntagNode":     write,
		fleetAt + "SetNode":       write,
		// A token becomes a certificate.
		fleetAt + "CreateJoinToken": admin,
		// It gives the caller no more than there is already.
		fleetAt + "CreateWebLogin": {Least: Viewer, Writes: true},

		fleetAt + "AddWindow":     write,
		fleetAt + "ListWindows":   read,
		fleetAt + "GetWindow":     read,
		fleetAt + "EndWindow":     write,
		fleetAt + "CancelWindow":  write,
		fleetAt + "ImportWindows": write,
		fleetAt + "ConfirmWindow": write,

		fleetAt + "SetFleetOverride":   write,
		fleetAt + "ClearFleetOverride": write,
		fleetAt + "ListFleetOverrides": read,

		fleetAt + "GetFleet":    read,
		fleetAt + "Freeze":      write,
		fleetAt + "Thaw":        write,
		fleetAt + "ListGrants":  read,
		fleetAt + "RevokeGrant": write,
		fleetAt + "Plan":        read,
		fleetAt + "History":     read,
		fleetAt + "Watch":       watch,

		fleetAt + "ListAudit":   read,
		fleetAt + "VerifyAudit": read,

		// A backup has everything in it.
		fleetAt + "Backup": {Least: Admin, Writes: true, Streams: true},

		// Load balancers ask without a certificate, and learn one bit.
		healthAt + "Check": {Anyone: true},
		healthAt + "List":  {Anyone: true},
		healthAt + "Watch": watch,

		reflectionAt + "ServerReflectionInfo":  watch,
		reflectionOld + "ServerReflectionInfo": watch,
	}
}

func helloNode(m proto.Message) string {
	if em, ok := m.(*centralv1.EdgeMessage); ok {
		return em.GetHello().GetNode()
	}
	return ""
}
