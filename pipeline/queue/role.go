package queue

import "slices"

// A Role determines the permissions of a credential in a cluster.
type Role string

// The roles.
const (
	Coordinator Role = "coordinator" // leads sweeps; unrestricted in its team's account
	Submitter   Role = "submitter"   // submits and controls sweeps, and reads their results
	Worker      Role = "worker"      // runs jobs
)

// Grants lists the subjects that a role may use. The server replaces {{name()}} by the name in the
// credential.
type Grants struct {
	Publish   []string // subjects of messages and requests; none: all
	Subscribe []string // none: all
}

const (
	ownName  = "{{name()}}"
	ownInbox = "_INBOX_" + ownName + ".>"

	registryStream  = "KV_" + registryBucket
	registrySubject = "$KV." + registryBucket + "."
	accountInfo     = "$JS.API.INFO"
	directGet       = "$JS.API.DIRECT.GET."
	streamInfo      = "$JS.API.STREAM.INFO."
)

// readFiles lists the requests of parties that fetch files: the stream's configuration, once for
// each connection, and the message of a subject for chunks. None of them makes a consumer.
var readFiles = []string{streamInfo + fileStream, directGet + fileStream + "." + fileSubject + "*.*"}

// GrantsOf returns the subjects that a role may use.
func GrantsOf(r Role) Grants {
	switch r {
	case Worker:
		return Grants{
			Publish: append([]string{
				accountInfo, workerSubject + ownName, resultSubject + "*." + ownName + ".>", "$JS.ACK." + jobStream + ".>",
				"$JS.API.CONSUMER.INFO." + jobStream + ".*", "$JS.API.CONSUMER.MSG.NEXT." + jobStream + ".*",
			}, readFiles...),
			Subscribe: []string{ownInbox, offerSubject + "*"},
		}
	case Submitter:
		return Grants{
			Publish: slices.Concat([]string{
				accountInfo, fileSubject + "*.*", registrySubject + "*",
				registrySubject + "*" + desiredKey, askPrefix + "*",
			}, readFiles, watching(registryBucket), watching(workerBucket)),
			Subscribe: []string{ownInbox},
		}
	}
	return Grants{}
}

// watching returns the subjects that nats.go uses to read and watch a bucket.
func watching(bucket string) []string {
	stream := "KV_" + bucket
	return []string{
		streamInfo + stream, "$JS.API.STREAM.MSG.GET." + stream, directGet + stream + ".>",
		"$JS.API.CONSUMER.CREATE." + stream + ".>", "$JS.API.CONSUMER.DELETE." + stream + ".>", "$JS.FC." + stream + ".>",
	}
}

// InboxOf returns the prefix of the subjects of responses to a credential's holder.
func InboxOf(name string) string { return "_INBOX_" + name }
