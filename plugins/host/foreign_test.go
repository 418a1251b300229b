package host_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/shatterlab/shatter/pipeline/testkit"
	"github.com/shatterlab/shatter/plugins/algo"
	"github.com/shatterlab/shatter/plugins/host"
	"github.com/shatterlab/shatter/plugins/plugintest"
	"github.com/shatterlab/shatter/schemas/pluginv1"
)

// TestPython accepts a plugin in Python that uses no SDK.
func TestPython(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	python := testkit.Python(t, "grpc, numpy, google.protobuf")
	dir := t.TempDir() // Python writes compiled files next to its sources
	copyFile(t, "../python/shatter/plugin_pb2.py", filepath.Join(dir, "plugin_pb2.py"))
	source, err := os.ReadFile("testdata/python/plugin.py")
	if err != nil {
		t.Fatal(err)
	}
	script := filepath.Join(t.TempDir(), "plugin.py")
	_, rest, _ := strings.Cut(string(source), "\n")
	if err := os.WriteFile(script, []byte("#!"+python+"\n"+rest), 0o700); err != nil {
		t.Fatal(err)
	}
	c := host.Command{Path: script, Env: []string{"PYTHONPATH=" + dir}}
	results := plugintest.Test(t.Context(), c, plugintest.Setting{
		Problem: algo.Problem{Class: "halfspace", Dim: 5, Margin: 0.1}, Parameters: map[string]any{"noise": 0.5},
	})
	for _, r := range results {
		if r.Err != nil {
			t.Errorf("%s, %s, %s: %v", r.Algorithm, r.Setting, r.Check, r.Err)
		}
	}
	if len(results) != 23 {
		t.Errorf("%d checks were done", len(results))
	}
}

// TestPythonProtocol compares the generated code of the Python SDK with the protocol.
func TestPythonProtocol(t *testing.T) {
	t.Parallel()
	testkit.Serial(t)
	python := testkit.Python(t, "google.protobuf")
	const print = "import sys, plugin_pb2; sys.stdout.buffer.write(plugin_pb2.DESCRIPTOR.serialized_pb)"
	describe := exec.Command(python, "-c", print)
	describe.Dir, describe.Env = "../python/shatter", append(os.Environ(), "PYTHONDONTWRITEBYTECODE=1")
	out, err := describe.Output()
	if err != nil {
		t.Fatal(err)
	}
	var generated descriptorpb.FileDescriptorProto
	if err := proto.Unmarshal(out, &generated); err != nil {
		t.Fatal(err)
	}
	current := protodesc.ToFileDescriptorProto(pluginv1.File_plugin_proto)
	jsonNames := protocmp.IgnoreFields(&descriptorpb.FieldDescriptorProto{}, "json_name")
	if d := cmp.Diff(current, &generated, protocmp.Transform(), jsonNames); d != "" {
		t.Errorf("plugins/python/shatter/plugin_pb2.py is out of date: run go generate ./schemas/pluginv1\n%s", d)
	}
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	b, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to, bytes.Clone(b), 0o600); err != nil {
		t.Fatal(err)
	}
}
