package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/shatterlab/shatter/coordinator/folder"
	"github.com/shatterlab/shatter/coordinator/lead"
	"github.com/shatterlab/shatter/pipeline/wording"
)

func resultsCommand() *cobra.Command {
	var server serverFlags
	var out, format string
	c := &cobra.Command{
		Use: "results ID --out DIR", Short: "Fetch the output folder of a submitted sweep",
		Long: `Fetch the output folder of a submitted sweep to --out: a folder like that of shatter run, on which
table, query, verify, report and the others work. While the sweep runs, and after it was paused or
cancelled, it holds what is known, and what is shown of it is marked as partial. A folder of the
same sweep at --out is brought up to date; one that holds something else is refused.`,
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if out == "" {
				return wrong("--out is needed: the folder that the results go to")
			}
			r, err := server.open(c)
			if err != nil {
				return err
			}
			defer r.close()
			return r.results(c, args[0], filepath.Clean(out), format)
		},
	}
	server.register(c.Flags())
	c.Flags().StringVar(&out, "out", "", "`folder` for the results (required)")
	addOutput(c, &format, listFormats, "")
	return c
}

// fetched is the JSON form of the output of results.
type fetched struct {
	Dir    string `json:"dir"`
	State  string `json:"state"`
	Digest string `json:"digest"` // of the result; "" where it is partial
}

func (r *remote) results(c *cobra.Command, id, out, format string) error {
	record, err := r.find(c.Context(), id)
	if err != nil {
		return err
	}
	if err := checkTarget(out, record.ID); err != nil {
		return err
	}
	if record.End == nil {
		a, err := lead.Ask(c.Context(), r.conn, record.ID, true)
		if err != nil {
			return err
		}
		if a != nil && a.Error != "" {
			fmt.Fprintf(c.ErrOrStderr(), "shatter: its leader could not ship what is new: %s\n", printable(a.Error))
		}
		if record, err = r.find(c.Context(), record.ID); err != nil {
			return err
		}
	}
	s, err := r.status(c.Context(), record)
	if err != nil {
		return err
	}
	if len(record.Shipment.Files) == 0 {
		return fmt.Errorf("nothing of sweep %s is on the server: it %s%s", s.ID, stands(s.State), because(s.Reason))
	}
	if err := fetchFolder(c, r, out, record, s); err != nil {
		return err
	}
	if format == "json" {
		return writeJSON(c.OutOrStdout(), fetched{out, s.State, s.Digest})
	}
	stderr := c.ErrOrStderr()
	if s.Digest != "" {
		fmt.Fprintf(stderr, "results in %s, digest %s\n", out, s.Digest)
		return nil
	}
	fmt.Fprintf(stderr, "shatter: partial: sweep %s %s%s; what it has found so far is in %s: shatter table %s\n",
		s.ID, stands(s.State), because(s.Reason), out, wording.ShellWord(out))
	return nil
}

// stands returns the predicate of a sentence about a sweep in a state.
func stands(state string) string {
	if state == lead.Failed {
		return "has failed"
	}
	return "is " + state
}

// because returns a reason as the end of a sentence.
func because(reason string) string {
	if reason == "" {
		return ""
	}
	return " (" + printable(reason) + ")"
}

// checkTarget refuses a folder that holds anything but results of the sweep.
func checkTarget(dir, id string) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(entries) == 0 {
		return nil
	}
	if err != nil {
		return noTarget(dir, err)
	}
	if record, err := folder.ReadRecord(dir); err == nil && record.ID == id {
		return nil
	}
	return wrong("%q holds something else than sweep %s; choose another folder with --out", dir, id)
}

// noTarget returns the error for a folder to which results cannot be written.
func noTarget(dir string, err error) error {
	return wrong("no results can go to %q (%w); choose another folder with --out", dir, err)
}

// fetchFolder makes the folder out of what was shipped of a sweep, and notes there how it stands if it
// has not ended. If that fails, out is as it was.
func fetchFolder(c *cobra.Command, r *remote, out string, record *lead.Record, s *sweepStatus) error {
	if err := os.MkdirAll(filepath.Dir(out), 0o777); err != nil {
		return noTarget(out, err)
	}
	temp, err := os.MkdirTemp(filepath.Dir(out), filepath.Base(out)+".fetch-")
	if err != nil {
		return noTarget(out, err)
	}
	defer os.RemoveAll(temp)
	if err := os.Chmod(temp, 0o755); err != nil {
		return err
	}
	if err := lead.Fetch(c.Context(), r.conn, temp, record); err != nil {
		return err
	}
	if s.Digest == "" {
		if err := folder.MarkFetched(temp, s.State); err != nil {
			return err
		}
	}
	if err := os.RemoveAll(out); err != nil {
		return err
	}
	return os.Rename(temp, out)
}
