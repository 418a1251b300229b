// Package transcriptv1 is the form of a recorded transcript, version 1, generated from
// transcript.proto. Package pipeline/plan/transcript writes and reads it.
package transcriptv1

//go:generate protoc --go_out=. --go_opt=paths=source_relative transcript.proto
