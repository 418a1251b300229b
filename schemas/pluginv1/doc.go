// Package pluginv1 is the plugin protocol, version 1, generated from plugin.proto.
//
// Authors in Go use plugins/algo instead; authors in other languages generate their own code from
// the same file.
package pluginv1

//go:generate protoc --go_out=. --go_opt=paths=source_relative plugin.proto outcomes.proto
//go:generate protoc --go-grpc_out=. --go-grpc_opt=paths=source_relative plugin.proto
//go:generate protoc --python_out=../../plugins/python/shatter plugin.proto
