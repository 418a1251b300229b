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
	"github.com/shatterlab/shatter/pipeline/testkit"
)

// A process is one of shatter, whose messages a test reads while it runs.
type process struct {
	*exec.Cmd
	log string // path
}

// startProcess starts a command of a build of shatter, which ends with the test.
func startProcess(t *testing.T, shatter string, args ...string) *process {
	t.Helper()
	log := filepath.Join(t.TempDir(), "log")
	out, err := os.Create(log)
	if err != nil {
		t.Fatal(err)
	}
	p := &process{exec.Command(shatter, args...), log}
	p.Stderr = out
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		p.stop()
		if t.Failed() {
			t.Logf("%v:\n%s", p.Args, p.text())
		}
	})
	return p
}

func startWorker(t *testing.T, shatter, url string, flags ...string) *process {
	t.Helper()
	return startProcess(t, shatter, append([]string{"worker", "--server", url, "--workers", "1"}, flags...)...)
}

func (p *process) stop() {
	_ = p.Process.Signal(syscall.SIGTERM)
	_ = p.Wait()
}

// ends waits for the end of the process and returns its output.
func (p *process) ends() string {
	_ = p.Wait()
	return p.text()
}

func (p *process) text() string {
	text, _ := os.ReadFile(p.log)
	return string(text)
}

// says waits until the process has printed a text.
func (p *process) says(t *testing.T, want string) {
	t.Helper()
	for range 3000 {
		if strings.Contains(p.text(), want) {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Fatalf("%v does not say %q", p.Args, want)
}

// A plugin, one file or a set, reaches workers that allow it by content, and gives the digest of a
// local run. A worker that does not allow it prints the flag that does; a copy that was damaged is fetched again.
func TestPluginTravels(t *testing.T) {
	testkit.Long(t)
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
		run := func(out string) *process {
			return startProcess(t, shatter, "run", file, "--out", filepath.Join(tmp, out), "--server", url, "--workers", "0",
				"--progress", "json")
		}
		remote := run(name + "-remote")
		if path == one {
			refuses := startWorker(t, shatter, url, "--cache", cache)
			remote.says(t, "--allow-plugins "+plugin.Digest)
			refuses.stop()
			if fetched, _ := filepath.Glob(filepath.Join(cache, "plugins", "*")); fetched != nil {
				t.Errorf("%v was fetched by a worker that does not allow it", fetched)
			}
		}
		any := startWorker(t, shatter, url, "--cache", cache, "--allow-plugins", "any")
		if text := remote.ends(); !strings.Contains(text, want) {
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
		again := run(name + "-again")
		allowed := startWorker(t, shatter, url, "--cache", cache, "--allow-plugins", plugin.Digest)
		if text := again.ends(); !strings.Contains(text, want) {
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

// A problem reaches workers that allow its plugin, and gives the digest of a local run.
func TestProblemTravels(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	shatter, tmp := binary(t), t.TempDir()
	file := write(t, filepath.Join(tmp, "segments.yaml"), fmt.Sprintf("name: segments\nplugins: [%s]\n"+
		"problem: {use: third/segments, size: 32, test: 100}\nalgorithms: [baseline/erm]\n"+
		"goal: {alpha: 0.1, beta: 0.1}\nn: [20]\ntrials: 40\n", thirdparty(t)))
	want := digest(t, mustRun(t, file, filepath.Join(tmp, "local")))
	url := startServer(t)
	remote := startProcess(t, shatter, "run", file, "--out", filepath.Join(tmp, "remote"), "--server", url,
		"--workers", "0", "--progress", "json")
	refuses := startWorker(t, shatter, url, "--cache", filepath.Join(tmp, "refuses"))
	remote.says(t, "the plugin of problem third/segments")
	refuses.stop()
	any := startWorker(t, shatter, url, "--cache", filepath.Join(tmp, "cache"), "--allow-plugins", "any")
	if text := remote.ends(); !strings.Contains(text, want) {
		t.Errorf("want digest %s: %s", want, text)
	}
	any.stop()
}
