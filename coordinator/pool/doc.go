// Package pool runs trials on the workers of a sweep.
//
// A [Pool] publishes sets of trials as jobs. It publishes jobs again that the server or a worker
// has lost, so that every trial returns at least once, or the run ends with an error. A [Source]
// provides the trials and receives the results; the pool does not depend on their purpose. Start at
// [Pool.Run].
package pool
