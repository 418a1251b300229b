package folder

import (
	"fmt"
	"time"
)

// Fetched holds the state of a sweep on a server at the time when its folder was fetched from
// there.
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
	r.Fetched = &Fetched{state, time.Now().UTC()}
	return r.write()
}

// DescribeFetched describes the state of the sweep when the folder was fetched from a server, and the
// command that updates the folder. It returns "" for other folders.
func (r *Record) DescribeFetched() string {
	x := r.Fetched
	if x == nil {
		return ""
	}
	return fmt.Sprintf("the sweep was %s when this was fetched (%s UTC): shatter results %s --out DIR "+
		"brings it up to date", x.State, x.At.Format(time.DateTime), r.ID)
}
