package host

import (
	"fmt"
	"strings"
)

// Cause is the reason why a process has ended.
type Cause string

// The causes.
const (
	Exit      Cause = "exit"      // it ended by itself
	Time      Cause = "time"      // killed: a trial took longer than Command.Trial
	Memory    Cause = "memory"    // killed: it took more than Command.Memory
	Greed     Cause = "greed"     // killed: it started too many processes, or filled its folder
	Protocol  Cause = "protocol"  // killed: it broke the protocol
	Cancelled Cause = "cancelled" // the caller's context ended, or Stop was called
)

// ExitError reports that a plugin process has ended, and why. For Cancelled, errors.Is finds the
// context's error.
type ExitError struct {
	Plugin string // its file
	Cause  Cause
	Where  string // activity: "learning (trial 18 of 1000)", "answering", ...
	Detail string // explanation; empty for Exit
	State  string // exit state: "exit status 3", "signal: killed"
	Stderr string // its last lines, with the beginning of a crash

	err error // the context's
}

// Error returns a message for a person, with the last lines of the plugin's output.
func (e *ExitError) Error() string {
	switch e.Cause {
	case Exit:
		return fmt.Sprintf("plugin %q ended by itself while %s: %s%s", e.Plugin, e.Where, e.State, quoted(e.Stderr))
	case Protocol:
		return fmt.Sprintf("plugin %q broke the protocol while %s: %s%s", e.Plugin, e.Where, e.Detail, quoted(e.Stderr))
	}
	return fmt.Sprintf("plugin %q was stopped while %s: %s%s", e.Plugin, e.Where, e.Detail, quoted(e.Stderr))
}

func (e *ExitError) Unwrap() error { return e.err }

// StartError reports that a file could not be started as a plugin: it is none, is not executable,
// speaks another version, ...
type StartError struct {
	Plugin string
	Reason string // with the remedy
	Stderr string // its last lines, if it ran

	err  error
	hint string // remedy, shown below its last lines
}

// Error returns a message for a person, with the last lines of the plugin's output.
func (e *StartError) Error() string {
	return fmt.Sprintf("start plugin %q: %s%s%s", e.Plugin, e.Reason, quoted(e.Stderr), e.hint)
}

func (e *StartError) Unwrap() error { return e.err }

// quoted returns the plugin's last output, to follow an error message.
func quoted(stderr string) string {
	if stderr == "" {
		return ""
	}
	return "\nits output ends with:\n  | " + strings.ReplaceAll(stderr, "\n", "\n  | ")
}

// SizeError reports that a table does not fit the session's memory file. A process with
// Command.SessionMemory = Need holds it. Both numbers are bytes.
type SizeError struct{ Need, Have int64 }

func (e *SizeError) Error() string {
	return fmt.Sprintf("a table of %d bytes does not fit the session memory of %d: start the plugin with more",
		e.Need, e.Have)
}

// Kind is a kind of fault of a trial.
type Kind string

// The kinds of a Fault.
const (
	Error      Kind = "error"      // an error that the algorithm returned
	Panic      Kind = "panic"      // a panic; the message has its stack
	Invalid    Kind = "invalid"    // the setting should have been refused by Check
	Infeasible Kind = "infeasible" // impossible with this sample size and budget
	Answer     Kind = "answer"     // NaN, unfilled or outside [-1, 1]: found by the host
)

// Fault describes why a trial has failed. It gets no more questions.
type Fault struct {
	Trial   int // index in the session
	Kind    Kind
	Message string // at most 4 KiB
}
