// Package pool runs trials on the workers of a sweep.
//
// A [Pool] publishes sets of trials as jobs and publishes those again that the server or a worker has lost, so that
// every trial comes back at least once, or the run ends with an error. It does not know why trials are run: a [Source]
// provides them and receives the results. Start at [Pool.Run].
package pool
