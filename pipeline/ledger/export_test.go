package ledger

// What the tests of the format of files need to know.
const (
	FrameHeader = frameHeader
	MaxMessage  = maxMessage
)

// SetFileSize makes the ledger begin a new file earlier.
func (l *Ledger) SetFileSize(size int64) { l.fileSize = size }
