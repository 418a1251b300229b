//go:build long

package main

import (
	"cmp"
	"flag"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/arrow/array"
	"github.com/apache/arrow/go/v17/arrow/ipc"
	"github.com/apache/arrow/go/v17/arrow/memory"
	"github.com/nats-io/nats-server/v2/server"

	"github.com/shatterlab/shatter/pipeline/testkit"
)

var (
	machineCount = flag.Int("machines", 3, "number of workers of TestMachines, each with a cache of its own")
	machineRows  = flag.Int("machines.rows", 50_000, "rows of 50 numbers in the data of TestMachines")
)

const machineColumns = 50

// machineSweep has 40 blocks of trials on the data, so that there are jobs for every machine. Sweeps of
// another goal have the same data in the same order, of which a worker keeps one table in memory; those
// of another seed would each have one of their own.
const machineSweep = `
name: machines
task: learn
problem: {class: halfspace, data: {file: %s, label: y, positive: p, scale: 1}}
algorithms: [baseline/perceptron]
goal: {alpha: 0.%d, beta: 0.1, above: 0}
n: {from: 20, to: 59, steps: 40}
trials: 4
`

// Machines that work on the same data fetch it once each, and keep it in memory and on disk once each.
// Neither the coordinator nor who submits it holds much of it. The table that it logs has what each
// process took: its highest resident set, to which the shared memory of the data counts, but not the page
// cache of files. For ten machines with 400 MB: -machines 10 -machines.rows 1000000 -timeout 1h.
func TestMachines(t *testing.T) {
	dir := t.TempDir()
	ns := serveWith(t, filepath.Join(dir, "server"), func(o *server.Options) { o.JetStreamMaxStore = 8 << 30 })
	data := filepath.Join(dir, "data.arrow")
	size := writeRows(t, data, *machineRows)
	begin := func(args ...string) *exec.Cmd {
		cmd := exec.Command(binary(t), append(args, "--server", ns.ClientURL())...)
		start(t, cmd)
		return cmd
	}
	leader := begin("coordinator", "--dir", filepath.Join(dir, "sweeps"))
	cache := func(i int) string { return filepath.Join(dir, "cache", strconv.Itoa(i)) }
	machines := make([]*exec.Cmd, *machineCount)
	for i := range machines {
		machines[i] = begin("worker", "--workers", "1", "--cache", cache(i))
	}
	sweeps, submitter := 0, int64(0) // highest of all commands that submit
	sweep := func() {
		sweeps++
		file := write(t, filepath.Join(dir, "sweep.yaml"), fmt.Sprintf(machineSweep, data, 100+sweeps))
		cmd := begin("submit", file, "--wait")
		ended := make(chan error, 1)
		go func() { ended <- cmd.Wait() }()
		for {
			select {
			case err := <-ended:
				if err != nil {
					t.Fatal(err)
				}
				return
			case <-time.After(20 * time.Millisecond): // it lives on long after its peak
				if peak, ok := testkit.PeakMemory(cmd.Process.Pid); ok {
					submitter = max(submitter, peak)
				}
			}
		}
	}
	complete := func() bool { // every machine has the data
		for i := range machines {
			if sizeOf(t, cache(i)) < size {
				return false
			}
		}
		return true
	}
	for sweep(); !complete(); sweep() {
		if sweeps == 20 {
			t.Fatal("after 20 sweeps there is a machine that has taken no part")
		}
	}
	first := make([]int64, len(machines))
	for i, m := range machines {
		first[i] = received(t, ns, m.Process.Pid)
	}
	sweep()
	const others = 128<<20 + spareHeap // bytes of a process without data, with its garbage
	resident := func(cmd *exec.Cmd) int64 {
		peak, ok := testkit.PeakMemory(cmd.Process.Pid)
		if !ok {
			t.Fatalf("%v has ended", cmd.Args)
		}
		return peak
	}
	check := func(what string, got, most int64) {
		t.Helper()
		if got > most {
			t.Errorf("%s: %.1f MB, %.1f are the most", what, mb(got), mb(most))
		}
	}
	t.Logf("%d sweeps; data %.1f MB; submit: at most %.0f MB of memory", sweeps, mb(size), mb(submitter))
	led := resident(leader)
	t.Logf("coordinator: %.0f MB of memory, received %.1f MB", mb(led), mb(received(t, ns, leader.Process.Pid)))
	check("memory of the coordinator", led, others)
	check("memory of submit", submitter, others+int64(1.1*float64(size)))
	for i, m := range machines {
		peak, disk, later := resident(m), sizeOf(t, cache(i)), received(t, ns, m.Process.Pid)-first[i]
		t.Logf("machine %d: %.0f MB of memory, %.1f MB of disk, received %.1f MB, then %.2f MB for another sweep",
			i, mb(peak), mb(disk), mb(first[i]), mb(later))
		check("memory", peak, others+int64(1.1*float64(size)))
		check("disk", disk, int64(1.1*float64(size)))
		check("received", first[i], int64(1.1*float64(size)))
		check("received for another sweep", later, size/10)
	}
}

func mb(bytes int64) float64 { return float64(bytes) / 1e6 }

// writeRows writes a table of random numbers with labels, and returns its size in bytes.
func writeRows(t *testing.T, path string, rows int) int64 {
	t.Helper()
	fields := []arrow.Field{{Name: "y", Type: arrow.BinaryTypes.String}}
	for i := range machineColumns {
		fields = append(fields, arrow.Field{Name: fmt.Sprintf("x%d", i), Type: arrow.PrimitiveTypes.Float64})
	}
	schema := arrow.NewSchema(fields, nil)
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	w, err := ipc.NewFileWriter(f, ipc.WithSchema(schema))
	if err != nil {
		t.Fatal(err)
	}
	b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	defer b.Release()
	rng := rand.New(rand.NewPCG(1, 2))
	const batch = 10_000
	for row := range rows {
		b.Field(0).(*array.StringBuilder).Append([]string{"p", "q"}[row%2])
		for i := range machineColumns {
			b.Field(i + 1).(*array.Float64Builder).Append(2*rng.Float64() - 1)
		}
		if (row+1)%batch == 0 || row+1 == rows {
			rec := b.NewRecord()
			err = cmp.Or(err, w.Write(rec))
			rec.Release()
		}
	}
	if err := cmp.Or(err, w.Close(), f.Close()); err != nil {
		t.Fatal(err)
	}
	return sizeOf(t, path)
}

// sizeOf returns the bytes of a file, or of all files below a folder, which need not exist.
func sizeOf(t *testing.T, path string) (sum int64) {
	t.Helper()
	if err := filepath.WalkDir(path, func(_ string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		info, err := e.Info()
		if err == nil {
			sum += info.Size()
		}
		return err
	}); err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return sum
}

// received returns the bytes that the server has sent to a process, whose name ends in its number.
func received(t *testing.T, ns *server.Server, pid int) (sum int64) {
	t.Helper()
	list, err := ns.Connz(&server.ConnzOptions{Limit: 1000})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range list.Conns {
		if strings.HasSuffix(c.Name, "-"+strconv.Itoa(pid)) {
			sum += c.OutBytes
		}
	}
	return sum
}
