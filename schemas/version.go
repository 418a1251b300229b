package schemas

import "fmt"

// VersionError reports data of another version of the format.
type VersionError struct {
	What, Found, Want string
	Release           string // version of shatter that wrote it; "": unknown
}

func (e *VersionError) Error() string {
	return fmt.Sprintf("%s is of version %q of its format, not %q", e.What, e.Found, e.Want)
}
