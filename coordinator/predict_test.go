package coordinator

import (
	"testing"
	"time"

	"github.com/shatterlab/shatter/coordinator/folder"
	"github.com/shatterlab/shatter/coordinator/forecast"
	"github.com/shatterlab/shatter/coordinator/pool"
)

// The cells of a plan share the pilots of their algorithms and problems. One algorithm refuses
// sizes below 24.
func TestPredict(t *testing.T) {
	t.Parallel()
	c := Config{
		Config: pool.Config{Digests: madeBy("one"), Healing: 100 * time.Millisecond},
		Folder: claim(t, t.TempDir(), testPlan(t), folder.Mode{}), Slots: 1,
	}
	startFake(t, t.Context(), &c, honest)
	p, err := Predict(t.Context(), c, 2)
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Cells) != 6 || p.Pilot == 0 || p.Pilot > 6*2*forecast.PilotTrials {
		t.Fatalf("%+v", p)
	}
	for i, c := range p.Cells {
		switch {
		case i < 2 && c.Trials != 450, i == 2 && c.Trials != 150:
			t.Errorf("list: %+v", c)
		case c.Trials > 0 && (c.Seconds <= 0 || c.Seconds > 20*max(0.1, 2e-4*c.Trials)):
			t.Errorf("a trial takes 0.2 ms: %+v", c)
		}
	}
}
