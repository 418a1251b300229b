package queue

import "slices"

// A Role determines what the holder of a credential may do in a cluster.
type Role string

// The roles.
const (
	Coordinator Role = "coordinator" // leads sweeps, and may do everything in its team's account
	Submitter   Role = "submitter"   // submits and steers sweeps, and reads their results
	Worker      Role = "worker"      // runs jobs
)

// Grants list the subjects that a role may use. The server replaces {{name()}} by the name in the credential.
type Grants struct {
	Publish   []string // messages and requests; none: all subjects
	Subscribe []string // none: all subjects
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

// readFiles are the requests of those who fetch files: the stream's configuration, once for each connection, the
// last message of a subject for descriptions, and the next one of a subject for chunks. The subject of the latter
// stands in the request, so that they can read all that the bucket has. None of them makes a consumer.
var readFiles = []string{streamInfo + fileStream, directGet + fileStream, directGet + fileStream + ".>"}

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
				accountInfo, chunkSubject + "*", metaSubject + "*", registrySubject + "*",
				registrySubject + "*" + wishKey, askPrefix + "*",
			}, readFiles, watching(registryBucket), watching(workerBucket)),
			Subscribe: []string{ownInbox},
		}
	}
	return Grants{}
}

// watching returns the subjects by which nats.go reads and watches a bucket.
func watching(bucket string) []string {
	stream := "KV_" + bucket
	return []string{
		streamInfo + stream, "$JS.API.STREAM.MSG.GET." + stream, directGet + stream + ".>",
		"$JS.API.CONSUMER.CREATE." + stream + ".>", "$JS.API.CONSUMER.DELETE." + stream + ".>", "$JS.FC." + stream + ".>",
	}
}

// InboxOf returns the beginning of the subjects of answers to the holder of a credential.
func InboxOf(name string) string { return "_INBOX_" + name }
