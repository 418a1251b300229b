package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/shatterlab/shatter/pipeline/testkit"
)

// TestScripts runs the command line as its users meet it. Scripts have the commands of testscript and
//
//	exits CODE COMMAND...   runs a command that has to end with an exit code
//	digest VAR              sets VAR to the digest that the last command printed on stderr
//	flip FILE               flips a bit in the middle of FILE
//	thirdparty FILE         copies the plugin of testdata/thirdparty to FILE
//	finished SWEEP DIR      copies the result of the file SWEEP to DIR; it is run once for all tests
//	server                  starts a NATS server, and sets SHATTER_SERVER to its URL
//	keep VAR                sets VAR to what the last command printed on stdout
//	until PATTERN COMMAND...  runs a command again and again until its stdout matches a pattern
func TestScripts(t *testing.T) { runScripts(t, filepath.Join("testdata", "script")) }

// TestLongScripts runs scripts that start many processes.
func TestLongScripts(t *testing.T) {
	testkit.Long(t)
	runScripts(t, filepath.Join("testdata", "script", "long"))
}

func runScripts(t *testing.T, dir string) {
	testkit.Serial(t)
	testscript.Run(t, testscript.Params{
		Dir:                 dir,
		RequireExplicitExec: true,
		Setup: func(env *testscript.Env) error {
			env.Setenv("SHATTER_CACHE", "off")
			env.Setenv("XDG_CACHE_HOME", filepath.Join(env.WorkDir, ".cache"))
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits": scriptExits,
			"digest": func(ts *testscript.TestScript, _ bool, args []string) {
				m := digestLine.FindStringSubmatch(ts.ReadFile("stderr"))
				if m == nil {
					ts.Fatalf("no digest on stderr")
				}
				ts.Setenv(args[0], m[1])
			},
			"flip": func(ts *testscript.TestScript, _ bool, args []string) {
				path := ts.MkAbs(args[0])
				raw, err := os.ReadFile(path)
				ts.Check(err)
				ts.Check(os.WriteFile(path, flip(half)(raw), 0o666))
			},
			"thirdparty": func(ts *testscript.TestScript, _ bool, args []string) {
				dir, err := testPlugins()
				ts.Check(err)
				raw, err := os.ReadFile(filepath.Join(dir, "thirdparty"))
				ts.Check(err)
				ts.Check(os.WriteFile(ts.MkAbs(args[0]), raw, 0o777))
			},
			"server": func(ts *testscript.TestScript, _ bool, _ []string) {
				url, stop, err := serverIn(ts.MkAbs(".nats"))
				ts.Check(err)
				ts.Defer(stop)
				ts.Setenv(serverVariable, url)
			},
			"keep": func(ts *testscript.TestScript, _ bool, args []string) {
				ts.Setenv(args[0], strings.TrimSpace(ts.ReadFile("stdout")))
			},
			"until": scriptUntil,
			"finished": func(ts *testscript.TestScript, _ bool, args []string) {
				dir, err := finishedOnce(ts.ReadFile(args[0]))
				ts.Check(err)
				ts.Check(os.CopyFS(ts.MkAbs(args[1]), os.DirFS(dir)))
			},
		},
	})
}

func scriptUntil(ts *testscript.TestScript, _ bool, args []string) {
	pattern := regexp.MustCompile(args[0])
	for end := time.Now().Add(time.Minute); ; {
		ts.Check(ts.Exec(args[1], args[2:]...))
		out := ts.ReadFile("stdout")
		if pattern.MatchString(out) {
			return
		}
		if time.Now().After(end) {
			ts.Fatalf("waited for %q in vain; last:\n%s", args[0], out)
		}
		time.Sleep(time.Second) // each command takes a tenth of a second of a core, or more
	}
}

func scriptExits(ts *testscript.TestScript, _ bool, args []string) {
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	var exit *exec.ExitError
	switch err := ts.Exec(args[1], args[2:]...); {
	case errors.As(err, &exit):
		got = exit.ExitCode()
	default:
		ts.Check(err)
	}
	if got != want {
		ts.Fatalf("exit %d, want %d", got, want)
	}
}
