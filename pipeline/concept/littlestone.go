package concept

// Dimensions returns the Vapnik-Chervonenkis and the Littlestone dimension of c, the class that
// New creates from s. It returns proved values if there is a proof, otherwise the results of the
// searches of LabelTable and VersionSpace. For a class too large to list it returns only proved
// bounds. VC <= Ldim <= log2 |H| always holds.
func Dimensions(c Class, s Spec) (vc, ldim Dimension) {
	vc, ldim = definitionOf(c).proved(c, s)
	if c.Size() == nil {
		return vc, ldim
	}
	log := logSize(c)
	if !vc.Exact() || !ldim.Exact() {
		vc, ldim = searched(c, s, vc, ldim)
	}
	return vc.and(Dimension{0, ldim.High}), ldim.and(Dimension{vc.Low, log})
}

// proved returns the proved bounds of the dimensions of c, the class of s.
func (d *Definition) proved(c Class, s Spec) (vc, ldim Dimension) {
	if d.Littlestone == nil {
		return d.VC(c, s), Dimension{0, logSize(c)}
	}
	return d.VC(c, s), d.Littlestone(c, s)
}

// exactVC is the Definition.VC of the classes whose Class.VC is exact.
func exactVC(c Class, _ Spec) Dimension { return exactly(c.VC()) }

// logSize returns floor(log2 |H|) of a finite class, an upper bound of both dimensions.
func logSize(c Class) int { return c.Size().BitLen() - 1 }

// searched improves the bounds of a class that can be listed.
func searched(c Class, s Spec, vc, ldim Dimension) (Dimension, Dimension) {
	f, finite := c.(Finite)
	if !finite {
		return vc, ldim
	}
	t, err := NewLabelTable(f, s)
	if err != nil { // too large
		return vc, ldim
	}
	if !vc.Exact() {
		vc = vc.and(t.VC())
	}
	if !ldim.Exact() {
		ldim = ldim.and(t.Versions().Ldim())
	}
	return vc, ldim
}
