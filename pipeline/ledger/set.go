package ledger

// Set is a set of outcomes in memory, without files. Its zero value is empty.
type Set struct{ known *index }

// Add compares the rows of a batch with the set, bit for bit, and adds those that are new.
func (s *Set) Add(b *Batch) Verdict {
	if s.known == nil {
		s.known = newIndex()
	}
	v := s.known.judge(b)
	s.known.commit(v, frameRef{}, frameOutcomes)
	return v
}
