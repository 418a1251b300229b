// Package authority sets up clusters that limit what each credential may do: it writes the configuration of NATS
// servers with TLS, and issues the credentials of coordinators, submitters and workers.
//
// It promises that a credential lets its holder send to and read from the subjects that [queue.GrantsOf] lists for its
// role, under its own name, and no others. Each team has an account of its own on the servers, which see to it that
// teams share nothing. In an account each role has a signing key with the permissions: servers know the accounts from
// their configuration, and need not be informed of a credential that is issued later.
//
// It needs a folder, which holds the keys of everything and belongs to the operator of the cluster.
// Start at [Create] and [Open].
package authority
