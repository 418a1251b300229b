package bus

// A Role is what the holder of a credential does in a cluster.
type Role string

// The roles. Each has an account of its own on the server, and JetStream is in the coordinators': a
// server lets everybody name any subject of his own account as that of the reply to a request, and
// so have the answer, or a file that he asks for, published there.
const (
	Coordinator Role = "coordinator" // leads sweeps, and may do everything but run the server
	Submitter   Role = "submitter"   // submits sweeps, steers all of its account, reads what they found
	Worker      Role = "worker"      // runs jobs
)

// Grants are what a role may do beside being answered. {{name()}} stands for the name in the
// credential.
type Grants struct {
	Publish   []string // to the coordinators' account: messages and requests
	Subscribe []string // to subjects of the account of From
	From      Role
}

const (
	ownName = "{{name()}}"

	registryStream  = "KV_" + registryBucket
	registrySubject = "$KV." + registryBucket + "."
	accountInfo     = "$JS.API.INFO" // who imports it from another account is not given one of the same name
	directGet       = "$JS.API.DIRECT.GET."
	streamInfo      = "$JS.API.STREAM.INFO."
)

// GrantsOf returns what workers and submitters may do. A submitter reads no content but what is private: whoever
// knows its digest can put any.
func GrantsOf(r Role) Grants {
	switch r {
	case Worker:
		return Grants{
			Publish: []string{
				accountInfo, directGet + fileStream + "." + fileSubject + ">", missingSubject + "*",
				fleetSubject + ownName, backSubject + "*.*." + ownName + ".*", resultSubject + "*.*." + ownName + ".>",
			},
			Subscribe: []string{jobSubject + ownName + ".>", dropSubject + ">", callSubject},
			From:      Coordinator,
		}
	case Submitter:
		return Grants{
			Publish: []string{
				accountInfo, fileSubject + ">", privateSubject + ">", streamInfo + fileStream,
				directGet + fileStream + "." + privateSubject + ">", missingSubject + private + "*",
				registrySubject + "*", registrySubject + "*" + wishKey, streamInfo + registryStream,
				directGet + registryStream + "." + registrySubject + ">", askPrefix + "*",
			},
			Subscribe: []string{fleetSubject + "*"},
			From:      Worker,
		}
	}
	return Grants{Publish: []string{">"}, Subscribe: []string{">"}}
}

// InboxOf returns the beginning of the subjects of answers to the holder of a credential, of which
// nobody else of its role hears.
func InboxOf(name string) string { return "_INBOX_" + name }
