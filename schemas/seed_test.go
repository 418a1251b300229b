package schemas

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// Seeds survive JSON, and numbers keep their original format.
func TestSeedJSON(t *testing.T) {
	drawn, err := DrawSeed()
	if err != nil {
		t.Fatal(err)
	}
	for want, s := range map[string]Seed{
		"0": {}, "18446744073709551615": NumberSeed(1<<64 - 1), `"secret"`: {secret: true},
		`"` + drawn.Digits() + `"`: drawn,
	} {
		raw, err := json.Marshal(s)
		if err != nil || string(raw) != want {
			t.Errorf("%s, %v, want %s", raw, err, want)
		}
		var back Seed
		if err := json.Unmarshal(raw, &back); err != nil || back != s {
			t.Errorf("%s comes back as %+v, %v", raw, back, err)
		}
	}
	for _, bad := range []string{
		`"5"`, `-1`, `1.5`, `"` + strings.Repeat("0", 32) + `"`, `"` + drawn.Digits() + `00"`,
		`"` + strings.Repeat("x", 32) + `"`, `18446744073709551616`,
	} {
		if err := json.Unmarshal([]byte(bad), new(Seed)); err == nil {
			t.Errorf("%s was read", bad)
		}
	}
}

// Messages do not contain the bits of a secret seed.
func TestSeedInWords(t *testing.T) {
	drawn, err := DrawSeed()
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(drawn, " ", NumberSeed(3)); got != "secret 3" {
		t.Error(got)
	}
	again, err := DrawSeed()
	if err != nil || again == drawn || !drawn.Drawn() || (Seed{secret: true}).Drawn() {
		t.Errorf("%v, %v, %v", again.Digits(), drawn.Digits(), err)
	}
}
