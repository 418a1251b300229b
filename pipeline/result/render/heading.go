package render

import (
	"strings"

	"github.com/shatterlab/shatter/schemas"
)

// headings maps columns to their names in papers, in LaTeX.
var headings = map[string]string{
	"d": `$d$`, "domain": `$|X|$`, "n": `$n$`, "rounds": `$T$`, "distribution": "Distribution",
	"noise_rate": `$\eta$`, "epsilon": `$\varepsilon$`,
	"n_low": `$n_{\mathrm{low}}$`, "n_high": `$n_{\mathrm{high}}$`, "n_star": `$n^\star$`,
	"n_model": `$\hat n$`, "n_model_low": `$\hat n_{\mathrm{low}}$`, "n_model_high": `$\hat n_{\mathrm{high}}$`,
	"theory_n": `$n_{\mathrm{theory}}$`, "paper_n": `$n_{\mathrm{paper}}$`,
	"ratio_low":   `$n_{\mathrm{low}}/n_{\mathrm{theory}}$`,
	"ratio_high":  `$n_{\mathrm{high}}/n_{\mathrm{theory}}$`,
	"ratio_model": `$\hat n/n_{\mathrm{theory}}$`,
	"rate":        "Success", "rate_low": "Success (low)", "rate_high": "Success (high)",
	"error_mean": "Error", "mean_error": "Error", "unbiased_error": "Error (unbiased)", "error_p90": `Error (90\,\%)`,
	"mistakes_mean": "Mistakes", "mistakes_max": "Mistakes (most)", "best_loss": `$L^\star$`,
	"regret_mean": "Regret", "regret_low": "Regret (low)", "regret_high": "Regret (high)",
	"theory_regret": "Regret bound", "paper_regret": "Printed bound",
	"prior_success": "Prior", "queries_success": "Queries alone", "ok": "OK",
	"estimate_low": "Estimate (low)", "estimate_high": "Estimate (high)", "estimate_se": "Standard error",
	"theory_estimate": "Theory", "goodness": "$p$", "chi_square": `$\chi^2$`,
}

// A pair holds the columns with the two ends of an interval, which LaTeX shows in one column.
type pair struct {
	low, high, heading string
	open, comma, shut  string
	none               string   // replaces a missing upper end
	implies            []string // columns that follow from the interval
}

var pairs = []pair{
	{"n_low", "n_high", `$n^\star$`, "$($", `,\,`, "$]$", `$\infty$$)$`, []string{"n_star"}},
	{"ratio_low", "ratio_high", "Ratio to theory", "", "--", "", "", nil},
	{"n_model_low", "n_model_high", `$\hat n$ (95\,\%)`, "$[$", `,\,`, "$]$", "", nil},
	{"rate_low", "rate_high", `Success (95\,\%)`, "$[$", `,\,`, "$]$", "", nil},
	{"regret_low", "regret_high", `Regret (95\,\%)`, "$[$", `,\,`, "$]$", "", nil},
	{"estimate_low", "estimate_high", `Joint interval (95\,\%)`, "$[$", `,\,`, "$]$", "", nil},
}

// Greek maps the names of Greek letters to the letters.
var Greek = map[string]string{
	"alpha": "α", "beta": "β", "gamma": "γ", "delta": "δ", "epsilon": "ε", "zeta": "ζ", "eta": "η", "theta": "θ",
	"kappa": "κ", "lambda": "λ", "mu": "μ", "nu": "ν", "xi": "ξ", "rho": "ρ", "sigma": "σ", "tau": "τ", "phi": "φ",
	"chi": "χ", "psi": "ψ", "omega": "ω",
}

// heading returns the name of a column in a paper, in LaTeX: a symbol if there is one, otherwise words.
func heading(column string) string {
	if h, ok := headings[column]; ok {
		return h
	}
	for _, prefix := range []string{schemas.ParamPrefix, schemas.MetricPrefix, schemas.WithPrefix} {
		column = strings.TrimPrefix(column, prefix)
	}
	letter, index, indexed := strings.Cut(column, "_")
	switch {
	case Greek[letter] != "" && !indexed:
		return `$\` + letter + `$`
	case Greek[letter] != "":
		return `$\` + letter + `_{\mathrm{` + escapeTex(strings.ReplaceAll(index, "_", " ")) + `}}$`
	case len([]rune(column)) == 1 && column >= "a" && column <= "z":
		return "$" + column + "$"
	}
	words := []rune(strings.ReplaceAll(column, "_", " "))
	if len(words) > 0 && words[0] >= 'a' && words[0] <= 'z' {
		words[0] += 'A' - 'a'
	}
	return escapeTex(string(words))
}
