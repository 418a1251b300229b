package folder

import (
	"fmt"
	"time"
)

// Fetched says how a sweep stood on a server when its folder was fetched from there, before its end.
type Fetched struct {
	State string    `json:"state"` // such as running
	At    time.Time `json:"at"`
}

// MarkFetched records the sweep's state in a folder that was fetched. The next Claim removes the record.
func MarkFetched(dir, state string) error {
	r, err := ReadRecord(dir)
	if err != nil {
		return err
	}
	f := &Folder{Dir: dir, owner: r.owner}
	f.owner.Fetched = &Fetched{state, time.Now().UTC()}
	return f.write()
}

// Fetched says how the sweep stood when the folder was fetched from a server before the sweep's end,
// and what to do about it. It returns "" for other folders.
func (f *Folder) Fetched() string {
	x := f.owner.Fetched
	if x == nil {
		return ""
	}
	return fmt.Sprintf("the sweep was %s when this was fetched (%s UTC): shatter results %s --out DIR "+
		"brings it up to date", x.State, x.At.Format(time.DateTime), f.ID)
}
