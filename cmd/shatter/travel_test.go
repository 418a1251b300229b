package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/shatterlab/shatter/pipeline/pluginfile"
)

// A workerProcess is a worker on a server.
type workerProcess struct {
	*exec.Cmd
	log string // path
}

// startWorker starts a worker of a build of shatter, which ends with the test.
func startWorker(t *testing.T, shatter, url string, flags ...string) *workerProcess {
	t.Helper()
	log := filepath.Join(t.TempDir(), "log")
	out, err := os.Create(log)
	if err != nil {
		t.Fatal(err)
	}
	args := append([]string{"worker", "--server", url, "--workers", "1"}, flags...)
	w := &workerProcess{exec.Command(shatter, args...), log}
	w.Stderr = out
	if err := w.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		w.stop()
		if t.Failed() {
			t.Logf("%v:\n%s", w.Args, w.text())
		}
	})
	return w
}

func (w *workerProcess) stop() {
	_ = w.Process.Signal(syscall.SIGTERM)
	_ = w.Wait()
}

func (w *workerProcess) text() string {
	text, _ := os.ReadFile(w.log)
	return string(text)
}

// says waits until the log of the worker holds a text.
func (w *workerProcess) says(t *testing.T, want string) {
	t.Helper()
	for range 3000 {
		if strings.Contains(w.text(), want) {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Fatalf("the worker does not say %q:\n%s", want, w.text())
}

// A plugin, one file or a set, reaches workers that allow it by content, and gives the digest of a
// local run. A worker that does not allow it says how to; a copy that was damaged is fetched again.
func TestPluginTravels(t *testing.T) {
	t.Parallel()
	shatter, tmp := binary(t), t.TempDir()
	raw, err := os.ReadFile(thirdparty(t))
	if err != nil {
		t.Fatal(err)
	}
	mine := strings.Replace(pluginfile.Here, "/", "_", 1)
	other := map[string]string{"amd64": "_arm64", "arm64": "_amd64"}[runtime.GOARCH]
	one, set := filepath.Join(tmp, "third"), filepath.Join(tmp, "acme")
	script := []byte("#!/bin/sh\n# it stands for the file of another platform\n")
	if err := errors.Join(
		os.WriteFile(one, raw, 0o755), os.Mkdir(set, 0o755), os.WriteFile(filepath.Join(set, "acme_"+mine), raw, 0o755),
		os.WriteFile(filepath.Join(set, "acme_"+runtime.GOOS+other), script, 0o755),
	); err != nil {
		t.Fatal(err)
	}
	url := startServer(t)
	for _, path := range []string{one, set} {
		name := filepath.Base(path)
		cache := filepath.Join(tmp, name+"-cache")
		plugin, err := pluginfile.Read(path)
		if err != nil {
			t.Fatal(err)
		}
		file := write(t, filepath.Join(tmp, name+".yaml"), fmt.Sprintf(thirdSweep, path, "third/plus", 40, 3))
		want := digest(t, mustRun(t, file, filepath.Join(tmp, name+"-local")))
		run := func(out string) <-chan string {
			cmd := exec.Command(shatter, "run", file, "--out", filepath.Join(tmp, out), "--server", url, "--workers", "0")
			done := make(chan string, 1)
			go func() {
				text, _ := cmd.CombinedOutput()
				done <- string(text)
			}()
			return done
		}
		done := run(name + "-remote")
		if path == one {
			refuses := startWorker(t, shatter, url, "--cache", cache)
			refuses.says(t, "--allow-plugins "+plugin.Digest)
			refuses.stop()
			if fetched, _ := filepath.Glob(filepath.Join(cache, "plugins", "*")); fetched != nil {
				t.Errorf("%v was fetched by a worker that does not allow it", fetched)
			}
		}
		any := startWorker(t, shatter, url, "--cache", cache, "--allow-plugins", "any")
		if text := <-done; digest(t, text) != want {
			t.Errorf("%s: want digest %s: %s", name, want, text)
		}
		any.stop()

		copied := filepath.Join(cache, "plugins", filesHere(t, plugin).Digest)
		if info, err := os.Stat(copied); err != nil || info.Mode() != 0o500 {
			t.Fatalf("%v, %v", info, err)
		}
		if err := errors.Join(os.Remove(copied), os.WriteFile(copied, script, 0o700)); err != nil {
			t.Fatal(err)
		}
		done = run(name + "-again")
		allowed := startWorker(t, shatter, url, "--cache", cache, "--allow-plugins", plugin.Digest)
		if text := <-done; digest(t, text) != want {
			t.Errorf("%s, after damage: want digest %s: %s", name, want, text)
		}
		allowed.stop()
	}
	expect(t, exitUsage, []string{"--allow-plugins", "the SHA-256 of a plugin"},
		"worker", "--server", url, "--allow-plugins", "third")
}

func filesHere(t *testing.T, p *pluginfile.Plugin) pluginfile.File {
	t.Helper()
	f, err := pluginfile.FileHere(p.Files)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// Two builds of shatter whose algorithms have the same versions work on one sweep and take over each
// other's folders, whatever their bytes are.
func TestTwoBuilds(t *testing.T) {
	t.Parallel()
	one, tmp := binary(t), t.TempDir()
	raw, err := os.ReadFile(one)
	if err != nil {
		t.Fatal(err)
	}
	two := filepath.Join(tmp, "shatter")
	if err := os.WriteFile(two, append(raw, "\nanother build\n"...), 0o755); err != nil {
		t.Fatal(err)
	}
	file := write(t, filepath.Join(tmp, "list.yaml"), verifySweep)
	want := digest(t, mustRun(t, file, filepath.Join(tmp, "local")))
	url, dir := startServer(t), filepath.Join(tmp, "remote")
	for _, build := range []string{one, two} {
		startWorker(t, build, url).says(t, "working")
	}
	run := func(build, dir string, flags ...string) string {
		t.Helper()
		args := append([]string{"run", file, "--out", dir, "--test-job-sizes", "3"}, flags...)
		text, err := exec.Command(build, args...).CombinedOutput()
		if exitStatus(err) != 0 || digest(t, string(text)) != want {
			t.Errorf("exit %d, want digest %s: %s", exitStatus(err), want, text)
		}
		return string(text)
	}
	run(two, dir, "--server", url, "--workers", "0", "--looks", "all")
	out, errs, _ := shatter(t, "query", dir, "-o", "csv", "select count(distinct worker) from timing")
	if out != "count(DISTINCT worker)\n2\n" {
		t.Errorf("workers: %s%s", out, errs)
	}
	run(one, dir)
	if last := lastRun(t, dir); last.Known != 240 || last.Run != 0 || len(last.Notes) != 0 {
		t.Errorf("the other build does not take the outcomes as they are: %+v", last)
	}
}
