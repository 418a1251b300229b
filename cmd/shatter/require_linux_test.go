package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/shatterlab/shatter/pipeline/testkit"
)

// withoutLandlock names the variable that makes this binary a process of a kernel without Landlock.
const withoutLandlock = "SHATTER_TEST_WITHOUT_LANDLOCK"

func init() {
	if os.Getenv(withoutLandlock) == "" {
		return
	}
	filter := []unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: 0},
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: unix.SYS_LANDLOCK_CREATE_RULESET, Jf: 1},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW},
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		panic(err)
	}
	program := &unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC,
		uintptr(unsafe.Pointer(program)))
	if errno != 0 {
		panic(errno)
	}
}

// On a machine without Landlock, every command that starts plugins ends at once where all layers are required: its
// message names the layers that do not hold, why, and what to do. By default it runs without them and prints a warning.
func TestRequiredLayers(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	file := write(t, filepath.Join(t.TempDir(), "sweep.yaml"), clusterSweep)
	weaker := func(args ...string) (stdout, stderr string, code int) {
		t.Helper()
		cmd := exec.Command(binary(t), args...)
		cmd.Env = append(os.Environ(), withoutLandlock+"=1", "XDG_CACHE_HOME="+t.TempDir())
		var out, failed strings.Builder
		cmd.Stdout, cmd.Stderr = &out, &failed
		err := cmd.Run()
		return out.String(), failed.String(), exitStatus(err)
	}
	out := filepath.Join(t.TempDir(), "out")
	for _, args := range [][]string{
		{"check", file}, {"run", file, "--out", out, "--quiet"}, {"submit", file, "--server", "nats://127.0.0.1:1"},
		{"worker", "--server", startServer(t)},
	} {
		stdout, stderr, code := weaker(append(args, "--sandbox", "require")...)
		if code != exitUsage || strings.Count(stderr, "\n") != 1 || stdout != "" ||
			!strings.Contains(stderr, "this machine cannot hold files (") ||
			!strings.Contains(stderr, "allow what is missing, or start with --sandbox prefer, which goes without") {
			t.Errorf("%v: exit %d: %s%s", args, code, stdout, stderr)
		}
	}
	if _, err := os.Stat(out); err == nil {
		t.Error("there is an output folder")
	}
	if stdout, stderr, code := weaker("run", file, "--out", out, "--quiet"); code != exitDone {
		t.Errorf("by default: exit %d: %s%s", code, stdout, stderr)
	}
	if text := contents(t, filepath.Join(out, "manifest.json")); !strings.Contains(text, "; without ") {
		t.Errorf("the manifest does not say what was missing: %s", text)
	}
}
