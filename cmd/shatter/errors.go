package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"syscall"

	"github.com/shatterlab/shatter/coordinator/audit"
	"github.com/shatterlab/shatter/coordinator/folder"
	"github.com/shatterlab/shatter/pipeline/disk"
	"github.com/shatterlab/shatter/pipeline/ledger"
	"github.com/shatterlab/shatter/pipeline/queue"
	"github.com/shatterlab/shatter/pipeline/queue/authority"
	"github.com/shatterlab/shatter/pipeline/result/compare"
	"github.com/shatterlab/shatter/pipeline/result/query"
	"github.com/shatterlab/shatter/pipeline/sandbox"
	"github.com/shatterlab/shatter/pipeline/sweep"
	"github.com/shatterlab/shatter/pipeline/wording"
	"github.com/shatterlab/shatter/plugins/host"
	"github.com/shatterlab/shatter/schemas"
)

// Exit codes.
const (
	exitDone        = 0
	exitUnfinished  = 1 // finished with failed or undecided cells, or ended by an error of this machine
	exitUsage       = 2 // usage or invalid file
	exitIntegrity   = 3 // two different outcomes of one trial, or a result that its ledger or its trials do not give
	exitConnection  = 4
	exitChanged     = 5 // the file or the code changed since the sweep began
	exitRefuted     = 6 // the result refutes a bound or a privacy guarantee, proved or declared
	exitInterrupted = 130
	exitPipe        = 141 // the reader of stdout has left: as if by SIGPIPE
)

// usageError blames the command line or a file that it names.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

// wrong returns a usageError with a text.
func wrong(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// statusError carries an exit code whose reason has been printed.
type statusError int

func (statusError) Error() string { return "" }

// A response is the exit code for an error, with the remedy that ends its message.
type response struct {
	code   int
	remedy string
}

const (
	// otherFolder is the remedy for an output folder that belongs to another sweep.
	otherFolder = "; choose another folder with --out, or set this one aside with --fresh"

	keepOrLeave = "\nrun again with --extend to keep what still applies and run what is new, or with --fresh to set " +
		"the old folder aside"
)

// responses is the table of errors that have an exit code or a remedy of their own. The first line that applies counts.
var responses = []func(error) (response, bool){
	on(exitUsage, func(*folder.OwnerError) string { return otherFolder }),
	on(exitUsage, func(*folder.SeedError) string { return otherFolder }),
	on(exitUsage, func(*folder.DamagedError) string {
		return "; running the sweep again with --fresh sets the folder aside"
	}),
	on(exitUsage, func(*folder.UnfinishedError) string { return " (`shatter table` shows what is known)" }),
	on(exitUsage, func(e *schemas.VersionError) string {
		release := ""
		if e.Release != "" {
			release = " (" + e.Release + ")"
		}
		return fmt.Sprintf("; use the release%s that made it, or run the sweep again with --fresh", release)
	}),
	on(exitChanged, func(e *folder.ChangedError) string {
		if e.Moves == "" {
			return keepOrLeave
		}
		return keepOrLeave + "\nwith --extend, " + e.Moves
	}),
	on(exitChanged, func(*audit.CodeError) string {
		return "; run again with --redo to drop the outcomes of the old code, or with --fresh to set the folder aside"
	}),
	on(exitUnfinished, func(e *audit.ProfileError) string {
		if e.Verify {
			return "; verify on a machine of the recorded profile, or only the tables with --sample 0"
		}
		return "; continue on a machine of the recorded profile, or start again with --fresh, which sets the folder aside"
	}),
	on(exitUsage, func(*audit.RefusedError) string { return "" }),
	on(exitConnection, connectRemedy),
	on(exitUsage, func(e *queue.IDError) string {
		if len(e.Known) > 0 {
			return ""
		}
		return "; `shatter sweeps` lists what there is"
	}),
	on(exitUsage, clusterRemedy),
	on(exitUsage, func(*sandbox.MissingError) string { return ", or start with --sandbox prefer, which goes without" }),
	on(exitUsage, func(*sandbox.EnterError) string { return "; --sandbox off goes without" }),
	on(exitUsage, func(*host.StartError) string { return "" }),
	on(exitUsage, func(e *compare.IncomparableError) string { return compareRemedies[e.Fault] }),
	is(exitUnfinished, ": this file system cannot make files durable (fsync): choose a folder on another one with --out",
		disk.CannotSync),
	is(exitUnfinished, ": its file server has lost the file: mount the folder again and run the same command again",
		func(err error) bool { return errors.Is(err, syscall.ESTALE) }),
	on(exitUnfinished, func(*ledger.WriteError) string { return "" }), // its message has a remedy
	is(exitUnfinished, ": make room and run the same command again", disk.IsFull),
	is(exitUnfinished, ": raise the limit on the size of files (ulimit -f) and run the same command again",
		func(err error) bool { return errors.Is(err, syscall.EFBIG) }),
	is(exitUnfinished, ": set TMPDIR to a folder that can be written", noTemporaryFiles),
	is(exitUnfinished, "; raise it with --timeout, or ask for less",
		func(err error) bool { return errors.Is(err, query.ErrTime) }),
	is(exitUnfinished, "; raise it with --memory, or aggregate before sorting or joining",
		func(err error) bool { return errors.Is(err, query.ErrMemory) }),
	is(exitUsage, "", func(err error) bool {
		return errors.Is(err, query.ErrSQL) || errors.Is(err, query.ErrNoEngine)
	}),
	on(exitUsage, func(usageError) string { return "" }),
	on(exitUsage, func(sweep.Mistakes) string { return "" }),
}

// on returns the line of the table for errors of type E.
func on[E error](code int, remedy func(E) string) func(error) (response, bool) {
	return func(err error) (response, bool) {
		e, ok := errors.AsType[E](err)
		if !ok {
			return response{}, false
		}
		return response{code, remedy(e)}, true
	}
}

// is returns the line of the table for errors with a property.
func is(code int, remedy string, applies func(error) bool) func(error) (response, bool) {
	return func(err error) (response, bool) { return response{code, remedy}, applies(err) }
}

// connectRemedy returns the remedy for a mistake that prevents a connection to a server.
func connectRemedy(e *queue.ConnectError) string {
	switch e.Fault {
	case queue.Unprepared:
		return "; start `shatter coordinator --server URL --dir DIR` first"
	case queue.NoCredentials:
		return "; give a credentials file with --creds, or user and password in $" + serverVariable
	case queue.BadCredentials:
		return "; give the file that `shatter cluster` has written with --creds"
	case queue.WrongRole:
		return fmt.Sprintf("; this needs those of a %s: `shatter cluster %[1]s NAME` issues some", e.Role)
	case queue.Expired:
		return fmt.Sprintf("; `shatter cluster renew %s` issues new ones, where the cluster was set up; copy them "+
			"over the old file: running processes read them by themselves", e.Name)
	case queue.BadCertificate:
		return "; give the authority that signed it with --tls-ca (ca.pem of the folder that `shatter cluster init` " +
			"has written), and in the URL a name that the certificate is for (`shatter cluster init --host NAME`)"
	}
	return ""
}

// compareRemedies holds the remedies for results that cannot be compared.
var compareRemedies = map[compare.Fault]string{
	compare.NoValues: " with --by; shatter table DIR shows those that there are",
	compare.NoPair:   "; --by COLUMN compares cells that differ in a column, and --by twice those that differ in two",
}

// clusterRemedy returns the remedy for a mistake of a command that works on the folder of a cluster.
func clusterRemedy(e *authority.InputError) string {
	switch e.Fault {
	case authority.NoCluster:
		return ": `shatter cluster init DIR` makes one"
	case authority.Damaged:
		return ", or set up the cluster again with `shatter cluster init`"
	case authority.Issued:
		return fmt.Sprintf(", or `shatter cluster renew %s`", e.Name)
	case authority.NotIssued:
		return fmt.Sprintf(": `shatter cluster worker %s` issues those of a worker", e.Name)
	case authority.NoTeam:
		return fmt.Sprintf(": `shatter cluster coordinator NAME --team %s` adds it", e.Name)
	}
	return ""
}

// respond returns what the command line makes of an error.
func respond(err error) response {
	if err == nil {
		return response{code: exitDone}
	}
	if status, ok := errors.AsType[statusError](err); ok {
		return response{code: int(status)}
	}
	for _, line := range responses {
		if r, ok := line(err); ok {
			return r
		}
	}
	return response{code: exitUnfinished}
}

// remedied returns the text of an error with its remedy, for messages about errors that do not end the command.
func remedied(err error) string { return err.Error() + respond(err).remedy }

// maxMessage is the number of bytes of an error that are shown.
const maxMessage = 32 << 10

// readable returns the text of an error without control characters, because it may contain text of plugins, files and
// servers.
func readable(text string) string {
	more := ""
	if n := len(text) - maxMessage; n > 0 {
		text, more = text[:maxMessage], fmt.Sprintf(" ... (%d bytes more)", n)
	}
	return wording.Printable(text, "\n\t") + more
}

// readerLeft reports whether the reader of stdout has gone, by an error of a write.
func readerLeft(err error) bool {
	write, ok := errors.AsType[*fs.PathError](err)
	return ok && write.Path == os.Stdout.Name() && errors.Is(write.Err, syscall.EPIPE)
}

// noTemporaryFiles reports whether err is about a temporary file, and none can be made.
func noTemporaryFiles(err error) bool {
	refused, ok := errors.AsType[*fs.PathError](err)
	if !ok || !strings.HasPrefix(refused.Path+"/", os.TempDir()+"/") {
		return false
	}
	dir, err := os.MkdirTemp("", "shatter-probe")
	if err == nil {
		err = os.Remove(dir)
	}
	return err != nil
}
