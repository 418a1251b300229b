// Package sandbox starts programs that are not trusted, so that they can do little but compute.
//
// It promises that a program that [Program.Start] has started is described by the layers that
// [Launch.Layers] returns: a layer is said to hold if the kernel has accepted it in the program's own
// process just before it was executed. Programs may read themselves, their
// interpreter and the system's libraries, may write to one folder at most, reach no network and no other
// process, cannot gain privileges, and are gone with the process that started them.
//
// It needs Linux on amd64 or arm64, no privileges and no other program: the binary that this package
// is linked into executes itself again under the name of [helper], restricts itself, and then
// executes the program. Elsewhere programs run as they are, and the layers say so. Where a cgroup v2 is
// delegated to this process, each program starts in one of its own; this process moves once into one
// beside those, because the kernel wants it. What a host that was killed leaves there, the next one ends.
// Start reading at [Program].
package sandbox

import (
	"fmt"
	"os"
	"slices"
	"strings"
)

// Mode says what to do about layers that a machine does not have.
type Mode string

// The modes.
const (
	Prefer  Mode = "prefer"  // take those that are to be had; the zero Mode means the same
	Require Mode = "require" // start nothing unless all required layers hold
	Off     Mode = "off"     // run programs as they are
)

// Policy is what a person decides about the sandbox. The zero value works.
type Policy struct {
	Mode Mode
	Read []string // absolute paths of files and folders that programs may read besides

	without []string // layers to leave out, for tests
}

// The layers.
const (
	Files      = "files"      // nothing is read or written but what was named
	Mounts     = "mounts"     // all file systems are read-only, but for its folder
	Network    = "network"    // there are no sockets but those of the Unix kind, and none of them connects
	Syscalls   = "syscalls"   // no namespaces, no mounts, no looking into other processes, ...
	Privileges = "privileges" // no capabilities, and no way to gain any
	Signals    = "signals"    // none reaches a process outside
	Processes  = "processes"  // all that the program starts ends with it, and with the host
	Bytes      = "bytes"      // what is executed cannot change after it was looked at
	Limits     = "limits"     // the kernel bounds files, and those of size and number
	Group      = "cgroup"     // the kernel bounds memory, processes and CPU of all that it starts together
)

// required lists the layers without which Require starts nothing.
var required = []string{Files, Network, Syscalls, Privileges, Signals, Processes}

// Required returns the layers without which Require starts nothing.
func Required() []string { return slices.Clone(required) }

// Layer is one layer of the sandbox, as it was found.
type Layer struct {
	Name string `json:"name"`
	Held bool   `json:"held"`
	How  string `json:"how"` // what holds it, or why nothing does
}

// Words returns the layers in one line: those that hold, and those that do not with the reason.
func Words(layers []Layer) string {
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

// ParseMode reads the name of a mode.
func ParseMode(name string) (Mode, error) {
	if m := Mode(name); slices.Contains([]Mode{Prefer, Require, Off}, m) {
		return m, nil
	}
	return "", fmt.Errorf("%q is not one of prefer, require and off", name)
}

// MissingError reports that layers that are required do not hold here.
type MissingError struct{ Layers []Layer }

func (e *MissingError) Error() string {
	return fmt.Sprintf("this machine cannot hold %s: allow what is missing, or start with --sandbox prefer, "+
		"which goes without", strings.TrimPrefix(Words(e.Layers), "nothing holds: "))
}

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

// Program is a program to be started. Its path is absolute.
type Program struct {
	Path   string
	Args   []string // without the program's name
	Env    []string
	Digest string     // SHA-256 of the file in hex digits; "": any
	Dir    string     // that it starts in; "": that of this process
	Folder string     // that it may write to; "": none
	Read   []string   // absolute paths of what it may read, beside what the policy says
	Files  []*os.File // its descriptors from 3 on; nil: closed
	Stdin  *os.File   // nil: empty
	Stdout *os.File
	Stderr *os.File
	Policy Policy

	// Memory is the number of bytes that it and all that it starts may take, and Threads that of the cores
	// that it is to use. The layer Group holds them, with some room, and nothing else does. 0: any.
	Memory  int64
	Threads int
}

// ChangedError reports that a file is not the one that was named.
type ChangedError struct{ Path, Want, Have string }

func (e *ChangedError) Error() string {
	return fmt.Sprintf("the file has changed since it was looked at (sha256 %.12s then, %.12s now): "+
		"run the command again", e.Want, e.Have)
}
