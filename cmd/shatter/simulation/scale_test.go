package simulation

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"golang.org/x/sync/errgroup"

	"github.com/shatterlab/shatter/coordinator"
	"github.com/shatterlab/shatter/coordinator/folder"
	"github.com/shatterlab/shatter/pipeline/bus"
	"github.com/shatterlab/shatter/pipeline/bus/bustest"
	"github.com/shatterlab/shatter/pipeline/ledger"
	"github.com/shatterlab/shatter/pipeline/plan"
	"github.com/shatterlab/shatter/pipeline/trial"
	"github.com/shatterlab/shatter/plugins/host"
	"github.com/shatterlab/shatter/worker"
)

var (
	scaleSlots  = flag.Int("scale.slots", 50, "number of slots of the fleet")
	scaleWorker = flag.Int("scale.worker", 50, "number of slots of one worker, at most")
	scaleCells  = flag.Int("scale.cells", 100, "number of cells of the sweep")
	scaleTrials = flag.Int("scale.trials", 10_000, "number of trials of the sweep; searches: of each cell, at most")
	scaleEach   = flag.Duration("scale.each", 0, "time that a trial takes")
	scaleLose   = flag.Int("scale.lose", 0, "slots beyond scale.slots whose process is killed after a third of the trials")
	scaleFind   = flag.Bool("scale.find", false, "cells search for n_star, which takes fewer trials")
)

// BenchmarkScale runs one sweep on a fleet: the coordinator in this process, a NATS server with the
// configuration of deploy/nats.conf in another one, and all workers, whose trials are slept, in a third
// one, or in a fourth one if they are to be lost. What it reports are processor times and memory, which
// other work on the machine does not change much, and the part of the slots' time that trials took. The
// result has to be that of one worker in this process. Run it with -benchtime 1x, and the sizes as flags.
func BenchmarkScale(b *testing.B) {
	for b.Loop() {
		scale(b)
	}
}

func scale(b *testing.B) {
	dir := b.TempDir()
	config, err := filepath.Abs("../../../deploy/nats.conf")
	if err != nil {
		b.Fatal(err)
	}
	url, _, endServer := startPart(b, dir, "server", config)
	each := scaleEach.String()
	_, _, endWorkers := startPart(b, dir, "workers", url, "w", strconv.Itoa(*scaleSlots), strconv.Itoa(*scaleWorker), each)
	lose := func() {}
	if *scaleLose > 0 {
		_, lost, _ := startPart(b, dir, "workers", url, "lost", strconv.Itoa(*scaleLose), strconv.Itoa(*scaleWorker), each)
		lose = sync.OnceFunc(func() {
			if err := lost.Kill(); err != nil {
				b.Error(err)
			}
		})
	}
	conn, err := bus.Dial(b.Context(), url, bus.Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer conn.Close()
	f, err := folder.Claim(filepath.Join(dir, "out"), scalePlan(), folder.Mode{})
	if err != nil {
		b.Fatal(err)
	}
	meter, before, began := &coordinator.Meter{}, usage(b), time.Now()
	var working syscall.Rusage // when the last trial was taken in
	var took time.Duration     // until then
	s, err := coordinator.Run(b.Context(), coordinator.Config{
		Folder: f, Conn: conn, Digests: codes, Meter: meter, Slots: *scaleSlots,
		Progress: func(p coordinator.Progress) {
			working, took = usage(b), time.Since(began)
			if *scaleLose > 0 && p.Trials > int64(*scaleTrials/3) {
				lose()
			}
		},
	})
	if err != nil {
		b.Fatal(err)
	}
	if s.Decided < s.Cells {
		b.Fatalf("%d cells of %d have come to their end", s.Decided, s.Cells)
	}
	after := usage(b)
	if err := f.Close(); err != nil {
		b.Fatal(err)
	}
	workers, ns := endWorkers(), endServer()
	counts, trials := meter.Counts(), float64(s.Trials)
	b.ReportMetric(trials, "trials")
	b.ReportMetric(float64(counts.Sent), "jobs")
	for _, x := range []struct {
		name string
		took time.Duration
	}{
		{"coordinator", processor(working) - processor(before)}, {"result", processor(after) - processor(working)},
		{"server", processor(ns)}, {"workers", processor(workers)},
	} {
		b.ReportMetric(float64(x.took.Microseconds())/trials, x.name+"-cpu-us/trial")
	}
	if *scaleEach > 0 {
		b.ReportMetric(100*trials*scaleEach.Seconds()/took.Seconds()/float64(*scaleSlots), "%-of-slots")
	}
	b.ReportMetric(float64((processor(working)-processor(before)).Microseconds())/float64(counts.Sent),
		"coordinator-cpu-us/job")
	b.ReportMetric(float64(working.Maxrss)/1024, "coordinator-MB")
	b.ReportMetric(float64(after.Maxrss)/1024, "with-result-MB")
	b.ReportMetric(float64(ns.Maxrss)/1024, "server-MB")
	b.ReportMetric(float64(workers.Maxrss)/1024, "workers-MB")
	if want := localDigest(b, filepath.Join(dir, "local")); s.Digest != want {
		b.Errorf("digest %.12s, that of one worker is %.12s", s.Digest, want)
	}
}

// localDigest runs the sweep with one worker and a server in this process, and returns its digest.
func localDigest(b *testing.B, dir string) string {
	ns, err := bus.Embed(bus.Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer ns.Shutdown()
	conn, err := ns.Dial(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	defer conn.Close()
	f, err := folder.Claim(dir, scalePlan(), folder.Mode{})
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	ctx, end := context.WithCancel(b.Context())
	var working errgroup.Group
	working.Go(func() error { return runWorker(ctx, conn, "local", 1, 0) })
	s, err := coordinator.Run(b.Context(), coordinator.Config{Folder: f, Conn: conn, Digests: codes})
	end()
	if err := errors.Join(err, working.Wait()); err != nil {
		b.Fatal(err)
	}
	return s.Digest
}

// scalePlan returns the plan of a sweep of the size that the flags want.
func scalePlan() *plan.Plan {
	p := newPlan()
	one := *p.Cells[0]
	p.Cells = nil
	for i := range *scaleCells {
		c := one
		c.As = "plain-" + strconv.Itoa(i)
		c.N, c.Trials = []int64{10, 30}, max(1, *scaleTrials / *scaleCells / 2)
		if *scaleFind {
			c.N, c.Trials = nil, 0
			c.Find, c.MaxTrials = &trial.Find{From: 4, To: 64, Within: 2, Confidence: 0.9}, int64(*scaleTrials)
		}
		var err error
		if c.Key, err = trial.KeyOf(c.As); err != nil {
			panic(err)
		}
		c.NoiseKey, c.DataKey = c.Key, c.Key
		p.Cells = append(p.Cells, &c)
	}
	return p
}

// partVariable is set in a process that is a part of the fleet of BenchmarkScale: it says which.
const partVariable = "SHATTER_SCALE_PART"

// startPart starts a part of the fleet as a process of its own, in which this program runs beFleet, and
// returns the line that it prints when it is ready. end ends it and returns what it has used.
func startPart(b *testing.B, dir string, part ...string) (ready string, p *os.Process, end func() syscall.Rusage) {
	b.Helper()
	cmd := exec.CommandContext(b.Context(), os.Args[0]) // until its stdin is closed
	cmd.Env = append(os.Environ(), partVariable+"="+strings.Join(part, " "))
	cmd.Dir, cmd.Stderr = dir, os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		b.Fatal(err)
	}
	if ready, err = bufio.NewReader(stdout).ReadString('\n'); err != nil {
		b.Fatalf("start %s: %v", part[0], err)
	}
	return strings.TrimSpace(ready), cmd.Process, func() syscall.Rusage {
		_ = stdin.Close()
		if err := cmd.Wait(); err != nil {
			b.Fatalf("end %s: %v", part[0], err)
		}
		return *cmd.ProcessState.SysUsage().(*syscall.Rusage)
	}
}

// beFleet is the process of a part of a fleet, until its stdin ends.
func beFleet(part []string) error {
	ctx, end := context.WithCancel(context.Background())
	go func() {
		defer end()
		_, _ = os.Stdin.Read(make([]byte, 1))
	}()
	if part[0] == "server" {
		return beServer(ctx, part[1])
	}
	slots, err := strconv.Atoi(part[3])
	if err != nil {
		return err
	}
	perWorker, err := strconv.Atoi(part[4])
	if err != nil {
		return err
	}
	each, err := time.ParseDuration(part[5])
	if err != nil {
		return err
	}
	fmt.Println("ready")
	var workers errgroup.Group
	for i := 0; slots > 0; i++ {
		name, mine := part[2]+strconv.Itoa(i), min(slots, perWorker)
		workers.Go(func() error { return beWorker(ctx, part[1], name, mine, each) })
		slots -= mine
	}
	return workers.Wait()
}

// beServer is a NATS server.
func beServer(ctx context.Context, config string) error {
	options, err := bustest.Options(config)
	if err != nil {
		return err
	}
	options.Port = server.RANDOM_PORT
	ns, err := bustest.Start(options)
	if err != nil {
		return err
	}
	fmt.Println(ns.ClientURL())
	<-ctx.Done()
	bustest.Stop(ns)
	return nil
}

// beWorker is a worker whose trials are slept.
func beWorker(ctx context.Context, url, name string, slots int, each time.Duration) error {
	conn, err := bus.Dial(ctx, url, bus.Options{Name: name})
	if err != nil {
		return err
	}
	defer conn.Close()
	return runWorker(ctx, conn, name, slots, each)
}

func runWorker(ctx context.Context, conn *bus.Conn, name string, slots int, each time.Duration) error {
	plugins := map[string]host.Command{}
	for _, code := range codes {
		plugins[code] = host.Command{}
	}
	return worker.Run(ctx, ctx, worker.Config{
		Conn: conn, Name: name, Slots: slots, Plugins: plugins,
		Simulate: func(ctx context.Context, job *trial.Job) (*ledger.Batch, error) {
			select {
			case <-time.After(time.Duration(job.Count) * each):
			case <-ctx.Done():
				return nil, ctx.Err()
			}
			return outcomesOf(job), nil
		},
	})
}

// usage returns what this process has used so far.
func usage(b *testing.B) (u syscall.Rusage) {
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return u
}

func processor(u syscall.Rusage) time.Duration { return time.Duration(u.Utime.Nano() + u.Stime.Nano()) }
