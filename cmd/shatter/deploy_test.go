package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/shatterlab/shatter/pipeline/fleet"
	"github.com/shatterlab/shatter/pipeline/testkit"
)

// deployed is the path of a file of deploy.
func deployed(parts ...string) string {
	path, _ := filepath.Abs(filepath.Join(append([]string{"..", "..", "deploy"}, parts...)...))
	return path
}

// The images are built offline, from nothing but the static binary. A worker of them does a sweep, as
// another user, with a read-only root and tini as process 1, and leaves in order.
func TestContainers(t *testing.T) {
	testkit.Long(t)
	for _, program := range []string{"buildah", "tini-static", "unshare", "setpriv"} {
		if _, err := exec.LookPath(program); err != nil || os.Getuid() != 0 {
			t.Skipf("%s is not there, or this is not root: apt-get install buildah tini", program)
		}
	}
	if out, err := exec.Command("buildah", "info").CombinedOutput(); err != nil {
		t.Skipf("buildah cannot work here: %v: %s", err, out)
	}
	build := exec.Command(deployed("container", "build"), "test")
	build.Env = append(os.Environ(), "BUILDAH_ISOLATION=chroot")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build the images: %v: %s", err, out)
	}
	c := newCluster(t)
	want := c.local(clusterSweep)
	image := func(name string, args ...string) *exec.Cmd {
		cmd := exec.Command(deployed("container", "try"), append([]string{name + ":test"}, args...)...)
		cmd.Env = append(os.Environ(), "SHATTER_SERVER="+c.url)
		start(t, cmd)
		return cmd
	}
	image("shatter-coordinator", "--http", "127.0.0.1:0")
	worker := image("shatter-worker", "--workers", "1", "--http", "127.0.0.1:0")
	id := c.submit(clusterSweep)
	_, stderr := c.must("watch", id)
	if got := digest(t, stderr); got != want {
		t.Errorf("digest %s, want %s", got, want)
	}
	c.signal(worker, syscall.SIGTERM)
	if err := worker.Wait(); err != nil {
		t.Errorf("the worker did not leave in order: %v", err)
	}
}

// The script for machines with ssh starts a worker on each, once, and has them leave in order. A shell with
// a home of its own stands for each machine.
func TestSSHFleet(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	c := newCluster(t)
	home := func(machine string) string { return filepath.Join(c.dir, machine) }
	for _, machine := range []string{"one", "two"} {
		if err := os.Mkdir(home(machine), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	ssh := write(t, filepath.Join(c.dir, "ssh"), "#!/bin/sh\ncd "+c.dir+"/$1 && HOME=$PWD exec sh -c \"$2\"\n")
	if err := os.Chmod(ssh, 0o755); err != nil {
		t.Fatal(err)
	}
	machines := write(t, filepath.Join(c.dir, "machines"), "one # the first\n\n# none\ntwo\n")
	url := strings.Replace(c.url, "//", "//shatter:secret@", 1)
	fleet := func(action string) string {
		t.Helper()
		cmd := exec.Command(deployed("ssh", "fleet"), action, machines)
		cmd.Env = append(os.Environ(), "SSH="+ssh, "SHATTER="+binary(t), "SHATTER_SERVER="+url)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v: %s", action, err, out)
		}
		lines := strings.Split(strings.TrimSpace(string(out)), "\n")
		slices.Sort(lines)
		return strings.Join(lines, "\n")
	}
	t.Cleanup(func() { fleet("stop") })
	for _, tt := range []struct{ action, want string }{
		{"stop", "one: stopped\ntwo: stopped"},
		{"start", "one: started\ntwo: started"},
		{"start", "one: runs already\ntwo: runs already"},
	} {
		if got := fleet(tt.action); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.action, got, tt.want)
		}
	}
	waitFor(t, "both work", func() bool { return len(c.fleet()) == 2 })
	if info, err := os.Stat(filepath.Join(home("one"), ".shatter", "server")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the URL with the password: %v, %v", info, err)
	}
	if got := fleet("status"); !strings.Contains(got, "one: runs\n") || strings.Contains(got, "secret") {
		t.Errorf("status: %s", got)
	}
	if got, want := fleet("stop"), "one: stopped\ntwo: stopped"; got != want {
		t.Errorf("stop: %s, want %s", got, want)
	}
	waitFor(t, "both have left", func() bool { return len(c.fleet()) == 0 })
}

// The units are ones that systemd takes without a complaint.
func TestSystemdUnits(t *testing.T) {
	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip("systemd-analyze is not there")
	}
	units, err := filepath.Glob(deployed("systemd", "*.service"))
	if err != nil || len(units) != 3 {
		t.Fatalf("%d units, %v", len(units), err)
	}
	dir := t.TempDir()
	for _, unit := range units {
		text, err := os.ReadFile(unit)
		if err != nil {
			t.Fatal(err)
		}
		for _, program := range []string{"/usr/local/bin/shatter", "/usr/local/bin/nats-server"} { // which verify looks for
			text = []byte(strings.ReplaceAll(string(text), program, "/bin/true"))
		}
		name := write(t, filepath.Join(dir, filepath.Base(unit)), string(text))
		if out, err := exec.Command(analyze, "verify", "--man=no", name).CombinedOutput(); err != nil || len(out) > 0 {
			t.Errorf("%s: %v: %s", unit, err, out)
		}
	}
}

// Each flag that a deployment gives to shatter is one.
func TestDeployedFlags(t *testing.T) {
	known := map[string]bool{"--chown": true} // of other programs
	for _, name := range []string{"coordinator", "worker", "run"} {
		out, _, code := shatter(t, name, "--help")
		if code != exitDone {
			t.Fatalf("%s --help: exit %d", name, code)
		}
		for _, word := range strings.Fields(out) {
			known[strings.TrimRight(word, ",")] = true
		}
	}
	for _, file := range []string{
		"container/Containerfile", "compose.yaml", "kubernetes/workers.yaml",
		"slurm/workers.sbatch", "slurm/one-node.sbatch", "ssh/fleet", "systemd/shatter-worker.service",
		"systemd/shatter-coordinator.service",
	} {
		text, err := os.ReadFile(deployed(filepath.FromSlash(file)))
		if err != nil {
			t.Fatal(err)
		}
		found := 0
		for line := range strings.Lines(string(text)) {
			if strings.HasPrefix(line, "#") {
				continue
			}
			for _, word := range strings.FieldsFunc(line, func(r rune) bool { return strings.ContainsRune(" \t\n,[]\"'", r) }) {
				if name, _, _ := strings.Cut(word, "="); strings.HasPrefix(name, "--") && strings.Trim(name, "-") != "" {
					if found++; !known[name] {
						t.Errorf("%s gives %s, which is no flag", file, name)
					}
				}
			}
		}
		if found == 0 {
			t.Errorf("%s gives no flag: the test does not read it", file)
		}
	}
}

// The servers of a cluster are set as the one of nats.conf is, where it matters to Shatter.
func TestClusterServers(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "cluster")
	_, stderr, code := shatter(t, "cluster", "init", dir, "--host", "a", "--host", "b", "--host", "c")
	if code != exitDone {
		t.Fatal(stderr)
	}
	one, err := server.ProcessConfigFile(natsConfig)
	if err != nil {
		t.Fatal(err)
	}
	three := serverOptions(t, filepath.Join(dir, "server-a"))
	what := func(o *server.Options) string {
		return fmt.Sprint(o.SyncAlways, o.MaxPayload, o.MaxPending, o.PingInterval, o.JetStreamMaxStore, o.JetStreamMaxMemory)
	}
	if what(one) != what(three) {
		t.Errorf("one server: %s; three: %s", what(one), what(three))
	}
	if len(three.Routes) != 2 || three.ClientAdvertise != "a:4222" || three.Cluster.Advertise != "a:6222" {
		t.Errorf("%d routes, told as %q and %q", len(three.Routes), three.ClientAdvertise, three.Cluster.Advertise)
	}
}

// fleet returns the workers that answer.
func (c *cluster) fleet() (list []*fleet.Worker) {
	c.Helper()
	out, _ := c.must("workers", "-o", "json")
	if err := json.Unmarshal([]byte(out), &list); err != nil {
		c.Fatal(err)
	}
	return list
}
