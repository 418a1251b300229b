package folder

import (
	"bytes"
	"errors"
	"io/fs"
	"path/filepath"

	"github.com/shatterlab/shatter/pipeline/disk"
)

// transcriptPath returns the path of what plugins and data files have said of the sweep file.
func transcriptPath(dir string) string { return filepath.Join(dir, "ledger", "transcript") }

// KeepTranscript keeps what plugins and data files said when the plan was made: see package
// transcript. With it the folder can be read where neither is at hand.
func (f *Folder) KeepTranscript(data []byte) error {
	path := transcriptPath(f.Dir)
	if kept, err := disk.ReadFile(path, maxRead); err == nil && bytes.Equal(kept, data) {
		return nil
	}
	return writeFile(path, data)
}

// Transcript returns what the last run's KeepTranscript was given; nil where there is none, because
// an earlier release has made the folder, or the run was ended before.
func (r *Record) Transcript() ([]byte, error) {
	data, err := disk.ReadFile(transcriptPath(r.Dir), maxRead)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return data, err
}
