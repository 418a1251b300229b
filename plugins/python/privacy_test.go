package python_test

import (
	"encoding/json"
	"fmt"
	"math"
	"os/exec"
	"strings"
	"testing"

	"github.com/shatterlab/shatter/pipeline/privacy"
	"github.com/shatterlab/shatter/pipeline/testkit"
)

// TestPrivacy compares the accounting of the module shatter.privacy with that of package privacy.
func TestPrivacy(t *testing.T) {
	t.Parallel()
	var calls []string
	var want []float64
	add := func(value float64, call string, args ...any) {
		calls, want = append(calls, fmt.Sprintf("p."+call, args...)), append(want, value)
	}
	for _, epsilon := range []float64{0.01, 0.5, 1, 8, 200} {
		for _, delta := range []float64{1e-12, 1e-6, 0.01, 0.4} {
			add(privacy.GaussianMu(epsilon, delta), "gaussian_mu(%v, %v)", epsilon, delta)
			add(privacy.GaussianEpsilon(epsilon, delta), "gaussian_epsilon(%v, %v)", epsilon, delta)
			add(privacy.GaussianSigma(2, 30, epsilon, delta), "gaussian_sigma(2, 30, %v, %v)", epsilon, delta)
			add(privacy.RhoFromEpsilon(epsilon, delta), "rho_from_epsilon(%v, %v)", epsilon, delta)
			add(privacy.EpsilonFromRho(epsilon, delta), "epsilon_from_rho(%v, %v)", epsilon, delta)
			for _, count := range []int{1, 2, 40} {
				epsilon0, delta0 := privacy.Optimal.Share(count, epsilon, delta)
				add(epsilon0, "share(%d, %v, %v)[0]", count, epsilon, delta)
				add(delta0, "share(%d, %v, %v)[1]", count, epsilon, delta)
				add(privacy.OptimalDelta(count, epsilon/10, delta, epsilon), "optimal_delta(%d, %v, %v, %v)",
					count, epsilon/10, delta, epsilon)
				least := min(privacy.Basic.Epsilon(count, epsilon0, delta0, delta),
					privacy.Optimal.Epsilon(count, epsilon0, delta0, delta))
				add(least, "compose(%d, %v, %v, %v)", count, epsilon0, delta0, delta)
			}
		}
	}
	epsilon, delta := privacy.Subsampled(math.Log(2), 1e-6, 0.5)
	if math.Abs(epsilon-math.Log(1.5)) > 1e-15 || delta != 5e-7 {
		t.Errorf("a half of the sample: (%v, %v)", epsilon, delta)
	}
	add(math.Log(1.5), "subsampled(%v, 1e-6, 0.5)[0]", math.Log(2))
	add(5e-7, "subsampled(%v, 1e-6, 0.5)[1]", math.Log(2))
	add(math.Inf(1), "compose(2, 1, 0.1, 0.1)")
	script := "import json, shatter.privacy as p\nprint(json.dumps([str(v) for v in [" +
		strings.Join(calls, ",\n") + "]]))"
	c := exec.Command(testkit.Python(t, needed), "-c", script)
	out, err := c.Output()
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	if err := json.Unmarshal(out, &got); err != nil {
		t.Fatal(err)
	}
	for i, text := range got {
		var v float64
		if _, err := fmt.Sscan(text, &v); err != nil || v != want[i] && !(math.Abs(v-want[i]) <= 1e-9*want[i]) {
			t.Errorf("%s is %s, want %v", calls[i], text, want[i])
		}
	}
}
