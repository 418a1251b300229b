package ledger

// Constants of the format of files, for tests.
const (
	FrameHeader = frameHeader
	MaxMessage  = maxMessage
)

// SetFileSize makes the ledger start a new file earlier.
func (l *Ledger) SetFileSize(size int64) { l.log.fileSize = size }
