package coordinator

import (
	"strings"
	"testing"
	"time"

	"github.com/shatterlab/shatter/coordinator/pool"
)

// The message that there is no worker appears only after workers have had time to publish a
// heartbeat: a leader that has just taken over a sweep has received none.
func TestStallReason(t *testing.T) {
	for _, tt := range []struct {
		p    Progress
		want string
	}{
		{Progress{}, ""},
		{Progress{Status: pool.Status{Stuck: "worker w has not the plugin"}}, "worker w has not the plugin"},
		{Progress{Status: pool.Status{NoWorkers: true}, Elapsed: time.Second}, "no heartbeat of a worker has arrived yet"},
		{Progress{Status: pool.Status{NoWorkers: true}, Elapsed: time.Minute}, "no worker is running: start `shatter worker"},
	} {
		if got := tt.p.StallReason(); !strings.HasPrefix(got, tt.want) || tt.want == "" && got != "" {
			t.Errorf("%+v: %q, want %q", tt.p, got, tt.want)
		}
	}
}
