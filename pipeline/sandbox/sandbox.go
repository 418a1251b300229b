// Package sandbox starts untrusted programs, with permission to do little but compute.
//
// Programs may read their own files, their interpreter and the system's libraries, may write to
// one folder at most, have no access to the network or to other processes, cannot gain
// privileges, and end with the process that started them. One table (layers_linux.go) lists the
// layers that enforce this. The first start tests all of them in a process without a program.
// Later starts apply the same layers. A layer that held in that test and fails at a start is an
// error: a program never runs with fewer layers than [Probe] reports.
//
// The package requires Linux on amd64 or arm64, but no privileges and no other program. The
// binary that contains this package executes itself again under the name of [helper], restricts
// itself, and then executes the program. On other systems programs run unrestricted, and the
// layers report that.
//
// Start reading at [Program].
package sandbox

import (
	"fmt"
	"os"
	"slices"
	"strings"
)

// Mode selects the treatment of layers that a machine does not have.
type Mode string

// The modes.
const (
	Prefer  Mode = "prefer"  // apply the available layers; the zero Mode means the same
	Require Mode = "require" // start programs only if all required layers hold
	Off     Mode = "off"     // run programs without restrictions
)

// A Policy holds a user's choices about the sandbox. The zero value works.
type Policy struct {
	Mode Mode
	Read []string // absolute paths of more files and folders that programs may read
	Env  []string // further variables of their environment, as KEY=value; they apply in every mode
}

// The layers.
const (
	Files      = "files"      // programs read and write named files only
	Mounts     = "mounts"     // the program has its own /dev/shm
	Network    = "network"    // no sockets except Unix sockets, and no connections
	Syscalls   = "syscalls"   // no namespaces, no mounts, no access to other processes, ...
	Privileges = "privileges" // no capabilities, and no way to gain any
	Signals    = "signals"    // no signals to processes outside
	Processes  = "processes"  // all processes of the program end with it, and with the host
	Bytes      = "bytes"      // the executed bytes are those that were hashed
	Limits     = "limits"     // the kernel limits the size and number of files
)

// required lists the layers that Require requires.
var required = []string{Files, Network, Syscalls, Privileges, Signals, Processes}

// Required returns the layers that Require requires.
func Required() []string { return slices.Clone(required) }

// A Layer describes one layer of the sandbox on this machine.
type Layer struct {
	Name string `json:"name"`
	Held bool   `json:"held"`
	How  string `json:"how"` // mechanism that enforces the layer, or the reason for having none
}

// Summary returns the layers in one line: those that hold, and the others with the reason.
func Summary(layers []Layer) string {
	var held, missing []string
	for _, l := range layers {
		if l.Held {
			held = append(held, l.Name)
		} else {
			missing = append(missing, l.Name+" ("+l.How+")")
		}
	}
	switch {
	case len(layers) == 0:
		return "off"
	case len(held) == 0:
		return "nothing holds: " + strings.Join(missing, ", ")
	case len(missing) == 0:
		return strings.Join(held, ", ")
	}
	return strings.Join(held, ", ") + "; without " + strings.Join(missing, ", ")
}

// ParseMode parses the name of a mode.
func ParseMode(name string) (Mode, error) {
	if m := Mode(name); slices.Contains([]Mode{Prefer, Require, Off}, m) {
		return m, nil
	}
	return "", fmt.Errorf("%q is not one of prefer, require and off", name)
}

// MissingError reports required layers that do not hold on this machine.
type MissingError struct{ Layers []Layer }

func (e *MissingError) Error() string {
	held := strings.TrimPrefix(Summary(e.Layers), "nothing holds: ")
	return fmt.Sprintf("this machine cannot hold %s: allow what is missing", held)
}

// An EnterError reports that a process could not enter its sandbox.
type EnterError struct{ Err error }

func (e *EnterError) Error() string { return "enter the sandbox: " + e.Err.Error() }
func (e *EnterError) Unwrap() error { return e.Err }

// missing returns a *MissingError if a layer that the mode requires does not hold.
func (p Policy) missing(layers []Layer) error {
	if p.Mode != Require {
		return nil
	}
	var lacking []Layer
	for _, l := range layers {
		if !l.Held && slices.Contains(required, l.Name) {
			lacking = append(lacking, l)
		}
	}
	if len(lacking) == 0 {
		return nil
	}
	return &MissingError{lacking}
}

// A Program describes a program to start. Its path is absolute.
type Program struct {
	Path   string
	Args   []string // arguments, without the program's name
	Env    []string
	Digest string     // SHA-256 of the file in hex digits; "": any
	Folder string     // folder that it may write to; "": none
	Files  []*os.File // descriptors from 3 on; nil: closed
	Stdout *os.File
	Stderr *os.File
	Policy Policy
}

// Usage counts the resources of a program and of all processes that it has started.
type Usage struct {
	Processes int
	Memory    int64 // bytes, in memory or swapped out
}

// ChangedError reports that the digest of a file is not the expected one.
type ChangedError struct{ Path, Want, Have string }

func (e *ChangedError) Error() string {
	return fmt.Sprintf("the file has changed since it was looked at (sha256 %.12s then, %.12s now): "+
		"run the command again", e.Want, e.Have)
}
