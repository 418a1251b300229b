package concept

// Dimensions returns the Vapnik-Chervonenkis and the Littlestone dimension of c, the class that New
// makes of s: as proved where there is a proof, otherwise as found by the searches of LabelTable
// and VersionSpace; for a class too large to be listed only what is proved. VC <= Ldim <= log2 |H|
// in any case.
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

// proved bounds the dimensions of c, the class of s, by what is known beforehand.
func (d *Definition) proved(c Class, s Spec) (vc, ldim Dimension) {
	if d.Littlestone == nil {
		return d.VC(c, s), Dimension{0, logSize(c)}
	}
	return d.VC(c, s), d.Littlestone(c, s)
}

// exactVC serves as Definition.VC of the classes whose Class.VC is exact, and returns that.
func exactVC(c Class, _ Spec) Dimension { return exactly(c.VC()) }

// logSize returns floor(log2 |H|) of a finite class, which no dimension exceeds.
func logSize(c Class) int { return c.Size().BitLen() - 1 }

// searched narrows down what is known of a class that can be listed.
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
