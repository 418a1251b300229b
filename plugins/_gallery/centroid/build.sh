#!/bin/sh
# Builds the plugin centroid in this folder from plugin.proto, whose path is the only argument.
# Debian: apt install g++ pkg-config libgrpc++-dev protobuf-compiler-grpc
set -eu
protoc --cpp_out=. --grpc_out=. --plugin=protoc-gen-grpc="$(command -v grpc_cpp_plugin)" -I "$(dirname "$1")" "$1"
g++ -std=c++17 ${CXXFLAGS--O2} -o centroid centroid.cc plugin.pb.cc plugin.grpc.pb.cc $(pkg-config --cflags --libs grpc++ protobuf)
