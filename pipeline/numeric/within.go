package numeric

// rounding is how much an error may exceed what is allowed, because it is a sum of rounded weights.
const rounding = 1e-12

// Within reports whether an error is a success: whether it is at most alpha above the reference
// error, as far as rounding tells.
func Within(err, above, alpha float64) bool { return err-above <= alpha+rounding }
