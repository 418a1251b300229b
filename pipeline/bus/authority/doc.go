// Package authority sets up clusters that trust nobody more than they have to: it writes the
// configuration of NATS servers with TLS, and issues the credentials of coordinators, submitters and
// workers.
//
// It promises that a credential lets its holder do what [bus.GrantsOf] lists for its role, under its
// own name, and nothing else. Each role has an account of its own on the servers, and a signing key
// with the permissions: servers know the accounts from their configuration, and need not hear of a
// credential that is issued later. An account reaches the coordinators' only by what that exports,
// so that an answer never goes to a subject there that the one who asks has chosen.
//
// It needs a folder, which holds the keys of everything and belongs to whoever runs the cluster.
// Start at [Create] and [Open].
package authority
