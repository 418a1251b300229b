// Package authority sets up clusters that limit what each credential may do: it writes the
// configuration of NATS servers with TLS, and issues the credentials of coordinators, submitters
// and workers.
//
// A credential allows its holder to publish and subscribe only to the subjects that
// [queue.GrantsOf] lists for its role, under its own name. Each team has its own account on the
// servers, which isolate accounts from each other. In an account each role has a signing key with
// the permissions. The servers read the accounts from their configuration and need no update when a
// credential is issued.
//
// The package needs a folder, which holds all keys and belongs to the operator of the cluster.
// Start at [Create] and [Open].
package authority
