package main

import (
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/shatterlab/shatter/coordinator/audit"
	"github.com/shatterlab/shatter/coordinator/folder"
	"github.com/shatterlab/shatter/pipeline/ledger"
)

// knownResult is a folder with the files of a result: the output folder of a sweep that has ended,
// or what is known of one that has not. Close it.
type knownResult struct {
	Dir string // holds the files

	temporary bool // close removes Dir
}

func (k *knownResult) close() {
	if k.temporary {
		_ = os.RemoveAll(k.Dir) // what stays is the system's to remove
	}
}

// openResult finds what is known of the sweep whose output folder is dir. Where the files of the
// folder are not those of its ledger, because a run has not ended, it makes them from the ledger in
// a temporary folder, and says on stderr how far the sweep has come.
func openResult(c *cobra.Command, dir string) (*knownResult, error) {
	if folder.ResultStands(dir) {
		return &knownResult{Dir: dir}, nil
	}
	s, err := openKnown(c.Context(), dir)
	if err != nil {
		return nil, err
	}
	defer s.close()
	temp, err := os.MkdirTemp("", "shatter-known-")
	if err != nil {
		return nil, err
	}
	signal.Ignore(syscall.SIGPIPE) // a reader of stdout that leaves is an error, after which close is called
	k := &knownResult{temp, true}
	if err := k.fill(c, s); err != nil {
		k.close()
		return nil, err
	}
	return k, nil
}

// fill writes what is known of the sweep.
func (k *knownResult) fill(c *cobra.Command, s *session) error {
	dir := s.folder.Dir
	running, err := ledger.InUse(filepath.Join(dir, "ledger"))
	if err != nil {
		return err
	}
	share := defaultRecheck
	if rechecks := folder.ReadManifest(dir).Rechecks; rechecks != nil {
		share = rechecks.Share
	}
	found, err := s.folder.WriteKnown(k.Dir, s.digests, running, audit.Due(s.folder, share))
	if err != nil {
		return err
	}
	stderr := c.ErrOrStderr()
	for _, d := range found.Damaged {
		fmt.Fprintf(stderr, "shatter: the ledger is damaged, and a part of it is left out: %s; "+
			"running the sweep again makes its trials anew\n", d)
	}
	switch {
	case found.Nothing() && running:
		return usageError{fmt.Errorf("nothing is known of %q yet: its sweep is running, and no trial has come back; "+
			"look again in a moment", dir)}
	case found.Nothing() && s.folder.Fetched() != "":
		return usageError{fmt.Errorf("nothing is known of %q yet: %s", dir, s.folder.Fetched())}
	case found.Nothing():
		return usageError{fmt.Errorf("nothing is known of %q: its sweep was interrupted before a trial came back; "+
			"run it again to go on", dir)}
	case found.Partial != "":
		fmt.Fprintf(stderr, "shatter: partial: %s\n", found.Partial)
	}
	return nil
}
