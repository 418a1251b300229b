package host

import (
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/shatterlab/shatter/schemas/pluginv1"
)

// A message holds a bounded number of settings and of bytes; a large one travels alone.
func TestAskRequest(t *testing.T) {
	sized := func(bytes ...int) (settings []*pluginv1.Setting) {
		for _, n := range bytes {
			settings = append(settings, &pluginv1.Setting{Problem: &pluginv1.Problem{Matrix: strings.Repeat("0", n)}})
		}
		return settings
	}
	for _, c := range []struct {
		settings []*pluginv1.Setting
		want     int
	}{
		{sized(1), 1},
		{sized(make([]int, maxAsked)...), maxAsked},
		{sized(make([]int, maxAsked+1)...), maxAsked},
		{sized(maxAskedBytes/2, maxAskedBytes/4, maxAskedBytes/2, 1), 2},
		{sized(2*maxAskedBytes, 1), 1},
		{sized(1, 2*maxAskedBytes), 1},
	} {
		q := askRequest(c.settings, maxAsked)
		if len(q.Settings) != c.want || c.want > 1 && proto.Size(q) > 1<<20 {
			t.Errorf("%d of %d settings in %d bytes, want %d", len(q.Settings), len(c.settings), proto.Size(q), c.want)
		}
	}
}

// All settings are answered in their order, from plugins with and without Ask, in messages of any size.
func TestAsk(t *testing.T) {
	t.Parallel()
	var settings []*pluginv1.Setting
	for i := range 3 * maxAsked / 2 {
		settings = append(settings, &pluginv1.Setting{N: int64(i)})
	}
	for _, kind := range []string{"unary", "ask all", "ask one by one"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			p := start(t, self("raw", "RAW="+kind))
			answers, err := p.Ask(t.Context(), settings)
			if err != nil || len(answers) != len(settings) {
				t.Fatalf("%d answers, %v", len(answers), err)
			}
			for i, a := range answers {
				want := &pluginv1.Answer{Check: rawCheck(settings[i])}
				if i == 0 {
					want.Bound = rawBound()
				}
				if !proto.Equal(a, want) {
					t.Errorf("%d: %v", i, a)
				}
			}
		})
	}
	for kind, want := range map[string]string{ // any of the waiting calls may be the first that fails
		"ask none": "0 answers about 1 settings", "ask too much": "2 answers about 1 settings",
		"ask nowhere": "it does not serve the whole protocol", "unary dies": "ended by itself while",
	} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			p := start(t, self("raw", "RAW="+kind))
			if answers, err := p.Ask(t.Context(), settings); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%d answers, error %v, want one that says %q", len(answers), err, want)
			}
		})
	}
}
