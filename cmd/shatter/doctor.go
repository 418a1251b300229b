package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"github.com/shatterlab/shatter/pipeline/dataset"
	"github.com/shatterlab/shatter/pipeline/disk"
	"github.com/shatterlab/shatter/pipeline/queue"
	"github.com/shatterlab/shatter/pipeline/sandbox"
	"github.com/shatterlab/shatter/pipeline/wording"
)

// A finding is the result of one check of this machine.
type finding struct {
	what   string
	detail string // what works, or why it does not
	lost   string // what will not work; "": everything works
	remedy string
	fatal  bool // whether no sweep runs here
}

func doctorCommand() *cobra.Command {
	var server serverFlags
	c := &cobra.Command{
		Use: "doctor [DIR]", Short: "Check what works on this machine", Args: cobra.MaximumNArgs(1),
		Long: `Check the file system of DIR (the present folder by default), in which sweeps would keep their
results, and shared memory, the layers of the sandbox, the tools that plugins need and the clock;
with --server also the connection. What is missing is listed with what will not work without it, and
the remedy. The exit code is 1 if sweeps cannot run.`,
		RunE: func(c *cobra.Command, args []string) error {
			found := checkFolder(c.Context(), cmp.Or(strings.Join(args, ""), "."))
			found = append(found, checkSharedMemory())
			found = append(found, checkSandbox()...)
			found = append(found, checkTools(c.Context())...)
			if server.url = cmp.Or(server.url, os.Getenv(serverVariable)); server.url != "" {
				found = append(found, checkServer(c, &server)...)
			}
			return writeFindings(c, found)
		},
	}
	server.register(c.Flags())
	return c
}

func writeFindings(c *cobra.Command, found []finding) error {
	w := tabwriter.NewWriter(c.OutOrStdout(), 0, 0, 2, ' ', 0)
	var code error
	verdict, limited := "sweeps run here", 0
	for _, f := range found {
		status := "ok"
		switch {
		case f.fatal:
			status, code = "FAIL", statusError(exitUnfinished)
			verdict = "sweeps cannot run here"
		case f.lost != "":
			status = "limited"
			limited++
		}
		fmt.Fprintf(w, "%s\t%s\t%s\n", status, f.what, printable(f.detail))
		if f.lost != "" {
			fmt.Fprintf(w, "\t\t%s; %s\n", f.lost, f.remedy)
		}
	}
	if limited > 0 {
		verdict += ", with " + wording.Count(limited, "limit")
	}
	fmt.Fprintln(w, verdict)
	return errors.Join(w.Flush(), code)
}

// checkFolder checks locks and fsync in a folder.
func checkFolder(ctx context.Context, dir string) []finding {
	locks := finding{what: "locks", detail: "flock works in " + dir}
	sync := finding{what: "fsync"}
	temporary, err := os.MkdirTemp(dir, "shatter-doctor-")
	if err != nil {
		locks.detail, locks.fatal = err.Error(), true
		locks.lost, locks.remedy = "sweeps cannot keep results there", "name a folder that can be written"
		return []finding{locks}
	}
	defer func() { _ = os.RemoveAll(temporary) }()
	path := filepath.Join(temporary, "lock")
	if f, err := os.Create(path); err == nil {
		defer f.Close()
		if err = disk.Lock(ctx, f, disk.Exclusive); err != nil {
			locks.detail, locks.fatal = err.Error(), true
			locks.lost, locks.remedy = "sweeps cannot lock their folder", "use a folder on another file system"
		} else if left, _ := disk.Glob(temporary, "*.lease"); len(left) > 0 {
			locks.detail = "the file system refuses flock; leases take its place"
			locks.lost = "after a crash, a run on another host waits a minute"
			locks.remedy = "mount Lustre with the option flock, or NFS with its lock service"
		}
	}
	const writes = 10
	began := time.Now()
	for range writes {
		if err = disk.WriteFile(filepath.Join(temporary, "file"), disk.Bytes([]byte("x"))); err != nil {
			sync.detail, sync.fatal = err.Error(), true
			sync.lost, sync.remedy = "sweeps cannot keep results there", "use a folder on another file system"
			return []finding{locks, sync}
		}
	}
	took := time.Since(began) / writes
	sync.detail = fmt.Sprintf("%v for a file and its folder", took.Round(10*time.Microsecond))
	if took > time.Second {
		sync.lost, sync.remedy = "results are recorded slowly", "use a folder on a local disk"
	}
	return []finding{locks, sync}
}

// checkSharedMemory checks the memory in which plugins receive samples.
func checkSharedMemory() finding {
	const size = 64 << 20
	f := finding{what: "shared memory", detail: wording.Bytes(size) + " for samples"}
	memory, err := dataset.NewMemory("doctor", size)
	if err != nil {
		f.detail, f.fatal = err.Error(), true
		f.lost, f.remedy = "no plugin and no built-in algorithm can start", "raise the memory limit of this process"
		return f
	}
	_ = memory.Close()
	var shm unix.Statfs_t
	if err := unix.Statfs("/dev/shm", &shm); err == nil {
		free := shm.Bavail * uint64(shm.Bsize)
		f.detail += ", " + wording.Bytes(int64(free)) + " free in /dev/shm"
	} else if !errors.Is(err, fs.ErrNotExist) {
		f.detail += ", /dev/shm: " + err.Error()
	}
	return f
}

// layerRemedies holds remedies for layers of the sandbox that do not hold.
var layerRemedies = map[string]string{
	sandbox.Mounts:    "allow user namespaces: sysctl kernel.unprivileged_userns_clone=1 user.max_user_namespaces=10000",
	sandbox.Processes: "allow user namespaces: sysctl kernel.unprivileged_userns_clone=1 user.max_user_namespaces=10000",
}

func checkSandbox() (found []finding) {
	layers, err := sandbox.Probe(sandbox.Policy{})
	if err != nil {
		return []finding{{what: "sandbox", detail: err.Error(), fatal: true, lost: "plugins do not start",
			remedy: "--sandbox off goes without"}}
	}
	for _, l := range layers {
		f := finding{what: "sandbox " + l.Name, detail: l.How}
		if !l.Held {
			f.lost = "plugins run without this layer"
			if slices.Contains(sandbox.Required(), l.Name) {
				f.lost += ", and --sandbox require refuses them"
			}
			f.remedy = cmp.Or(layerRemedies[l.Name], "use Linux 6.12 or later with Landlock, and no older container runtime")
		}
		found = append(found, f)
	}
	return found
}

// checkTools checks the programs that build and run plugins, and the clock.
func checkTools(ctx context.Context) []finding {
	const modules = "import sys, numpy, grpc, google.protobuf as p; " +
		"print(f'{sys.executable}, Python {sys.version.split()[0]}, numpy {numpy.__version__}, " +
		"grpcio {grpc.__version__}, protobuf {p.__version__}')"
	clock := finding{what: "clock", detail: time.Now().Format(time.RFC3339)}
	if info, err := os.Executable(); err == nil {
		if program, err := os.Stat(info); err == nil && program.ModTime().After(time.Now().Add(time.Minute)) {
			clock.lost, clock.remedy = "it is before the date of this program: certificates are refused", "set the clock"
		}
	}
	return []finding{
		tool(ctx, "Python", "plugins in Python do not start",
			"apt-get install python3-numpy python3-grpcio python3-protobuf, "+
				"or name another interpreter in the first line of the plugin", "python3", "-c", modules),
		tool(ctx, "Go", "plugins in Go cannot be built here", "install it from https://go.dev/dl", "go", "version"),
		tool(ctx, "C compiler", "shatter cannot be built here with its SQL engine, nor plugins with -race",
			"apt-get install g++", cmp.Or(os.Getenv("CC"), "cc"), "--version"),
		clock,
	}
}

// tool returns the first line that a program prints.
func tool(ctx context.Context, what, lost, remedy, name string, args ...string) finding {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	out, err := exec.CommandContext(ctx, name, args...).CombinedOutput()
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	if err == nil {
		return finding{what: what, detail: wording.OneLine(lines[0], 200)}
	}
	reason := wording.OneLine(cmp.Or(lines[len(lines)-1], err.Error()), 200)
	return finding{what: what, detail: reason, lost: lost, remedy: remedy}
}

// checkServer checks the connection to a server and compares its clock.
func checkServer(c *cobra.Command, server *serverFlags) []finding {
	f := finding{what: "server"}
	err := server.check()
	var conn *queue.Conn
	if err == nil {
		conn, err = queue.Dial(c.Context(), server.url,
			server.options("doctor "+workerName(), nil, queue.Worker, queue.Submitter, queue.Coordinator))
	}
	if err != nil {
		f.detail, f.fatal, f.lost = err.Error(), true, "no cluster"
		f.remedy = cmp.Or(strings.TrimLeft(respond(err).remedy, ";: "), "start the server, or correct --server")
		return []finding{f}
	}
	defer conn.Close()
	f.detail = "connected, with JetStream"
	began := time.Now()
	now, err := conn.ServerTime(c.Context())
	took := time.Since(began)
	if err != nil {
		f.lost, f.remedy = "no sweep can be submitted yet", "start `shatter coordinator --server URL --dir DIR`"
		return []finding{f}
	}
	skew := time.Until(now.Add(took / 2)).Round(time.Millisecond)
	clock := finding{what: "server clock", detail: fmt.Sprintf("%v from this one", skew)}
	if skew.Abs() > time.Minute {
		clock.lost, clock.remedy = "--until and expiring credentials are off by that", "synchronize both clocks (NTP)"
	}
	return []finding{f, clock}
}
