package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/shatterlab/shatter/pipeline/testkit"
)

// slurmConf is the configuration of a Slurm cluster of this machine alone, as if it had 8 CPUs.
const slurmConf = `
ClusterName=test
SlurmctldHost=%[1]s(127.0.0.1)
SlurmctldPort=%[3]d
SlurmdPort=%[4]d
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket=%[2]s/munge.socket
CredType=cred/munge
StateSaveLocation=%[2]s/state
SlurmdSpoolDir=%[2]s/spool
SlurmctldPidFile=%[2]s/slurmctld.pid
SlurmdPidFile=%[2]s/slurmd.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SwitchType=switch/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SlurmdParameters=config_overrides
ReturnToService=2
KillWait=5
NodeName=%[1]s NodeAddr=127.0.0.1 CPUs=8 State=UNKNOWN
PartitionName=main Nodes=ALL Default=YES MaxTime=60 State=UP
`

// slurm is a Slurm cluster of this machine alone, which listens on loopback.
type slurm struct {
	*testing.T
	dir string
}

// newSlurm starts munged, slurmctld and slurmd. It skips the test where Debian's package slurm-wlm is
// not installed, or this is not root.
func newSlurm(t *testing.T) *slurm {
	t.Helper()
	for _, program := range []string{"munged", "slurmctld", "slurmd", "sbatch"} {
		if _, err := exec.LookPath(program); err != nil || os.Getuid() != 0 {
			t.Skipf("%s is not there, or this is not root: apt-get install slurm-wlm", program)
		}
	}
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	s := &slurm{t, t.TempDir()}
	path := func(name string) string { return filepath.Join(s.dir, name) }
	// munged demands it of its socket's folders.
	for dir := s.dir; dir != "/" && dir != os.TempDir(); dir = filepath.Dir(dir) {
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() {
		logs, _ := filepath.Glob(path("shatter-*.log"))
		for _, log := range logs {
			text, _ := os.ReadFile(log)
			t.Logf("%s:\n%s", filepath.Base(log), text)
		}
	})
	for _, dir := range []string{"state", "spool"} {
		if err := os.Mkdir(path(dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	write(t, path("slurm.conf"), fmt.Sprintf(slurmConf, host, s.dir, freePort(t), freePort(t)))
	key := write(t, path("munge.key"), strings.Repeat("a key of this test alone ", 10))
	if err := os.Chmod(key, 0o400); err != nil {
		t.Fatal(err)
	}
	start(t, exec.Command("munged", "--foreground", "--force", "--socket", path("munge.socket"), "--key-file", key,
		"--pid-file", path("munge.pid"), "--seed-file", path("munge.seed"), "--log-file", path("munge.log")))
	waitFor(t, "munged listens", func() bool { _, err := os.Stat(path("munge.socket")); return err == nil })
	for _, program := range []string{"slurmctld", "slurmd"} {
		start(t, s.command(program, "-D", "-f", path("slurm.conf")))
	}
	waitFor(t, "the node is idle", func() bool {
		out, _ := s.command("sinfo", "-h", "-o", "%T").Output()
		return strings.TrimSpace(string(out)) == "idle"
	})
	return s
}

// command returns a command with the cluster's configuration.
func (s *slurm) command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(name, args...)
	cmd.Dir = s.dir
	cmd.Env = append(os.Environ(), "SLURM_CONF="+filepath.Join(s.dir, "slurm.conf"), "XDG_CACHE_HOME="+s.dir)
	return cmd
}

// sbatch submits a script of deploy/slurm, and returns the job's number.
func (s *slurm) sbatch(variables []string, args ...string) string {
	s.Helper()
	cmd := s.command("sbatch", append([]string{"--parsable"}, args...)...)
	cmd.Env = append(append(cmd.Env, variables...), "SHATTER="+binary(s.T))
	out, err := cmd.CombinedOutput()
	if err != nil {
		s.Fatalf("sbatch %v: %v: %s", args, err, out)
	}
	s.Logf("sbatch %v: job %s", args, out)
	return strings.TrimSpace(string(out))
}

// script is the path of a file of deploy/slurm.
func slurmScript(name string) string {
	path, _ := filepath.Abs(filepath.Join("..", "..", "deploy", "slurm", name))
	return path
}

// An array of workers of two allocations does a sweep; each of them knows when its time is over, and when
// the array is cancelled, all leave in order.
func TestSlurmWorkers(t *testing.T) {
	testkit.Long(t)
	c, s := newCluster(t), newSlurm(t)
	want := c.local(clusterSweep)
	job := s.sbatch([]string{"SHATTER_SERVER=" + c.url}, "--array=1-2", "--cpus-per-task=1", "--mem-per-cpu=1",
		"--time=5", slurmScript("workers.sbatch"))
	waitFor(t, "the workers are there, and know their end", func() bool {
		list := c.fleet()
		return len(list) == 2 && !list[0].Until.IsZero() && !list[1].Until.IsZero()
	})
	out, _ := c.must("workers")
	t.Logf("shatter workers:\n%s", out)
	if got := c.begin(clusterSweep)(); got != want {
		t.Errorf("digest %s, want %s", got, want)
	}
	if out, err := s.command("scancel", job).CombinedOutput(); err != nil {
		t.Fatalf("scancel: %v: %s", err, out)
	}
	waitFor(t, "the workers have left", func() bool { return len(c.fleet()) == 0 })
}

// A run whose allocation ends in the middle stops in order, is requeued, and goes on to the same
// result.
func TestSlurmOneNode(t *testing.T) {
	testkit.Long(t)
	s := newSlurm(t)
	c := &cluster{t, "", s.dir}
	sweep := fmt.Sprintf(strings.Replace(longTrials, "trials: 2", "trials: 12", 1), thirdparty(t))
	want := c.local(sweep)
	out := filepath.Join(s.dir, "out")
	job := s.sbatch(nil, "--cpus-per-task=1", "--mem-per-cpu=1", "--time=5", slurmScript("one-node.sbatch"),
		write(t, filepath.Join(s.dir, "sweep.yaml"), sweep), out)
	waitFor(t, "outcomes come", func() bool {
		log, err := os.Stat(filepath.Join(out, "ledger", "0001.log"))
		return err == nil && log.Size() > 0
	})
	if out, err := s.command("scancel", "--batch", "--signal=TERM", job).CombinedOutput(); err != nil {
		t.Fatalf("scancel: %v: %s", err, out)
	}
	waitFor(t, "it is requeued", func() bool {
		out, _ := s.command("scontrol", "show", "job", job).Output()
		return strings.Contains(string(out), "Restarts=1")
	})
	// A job that was requeued waits for two minutes.
	for end := time.Now().Add(8 * time.Minute); ; time.Sleep(time.Second) {
		out, _ := s.command("scontrol", "show", "job", job).Output()
		if strings.Contains(string(out), "JobState=COMPLETED") {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("it has not ended: %s", out)
		}
	}
	log, err := os.ReadFile(filepath.Join(s.dir, "shatter-"+job+".log"))
	if err != nil {
		t.Fatal(err)
	}
	if got := digest(t, string(log)); got != want {
		t.Errorf("digest %s, want %s", got, want)
	}
}
