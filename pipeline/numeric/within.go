package numeric

// rounding is the permitted excess of an error, which is a sum of rounded weights.
const rounding = 1e-12

// Within reports whether an error is a success: whether it is at most alpha above the reference
// error, up to rounding.
func Within(err, reference, alpha float64) bool { return err-reference <= alpha+rounding }
