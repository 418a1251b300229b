package host

import "fmt"

// namer returns a function for what stands before a line that the plugin prints during the session: the
// trial. Of several, the plugin only says how far it is, and may be further than where it printed the
// line: so the name is one near by; and without a mailbox, those of the first and the last trial.
func (s *Session) namer(name func(int) string) func() string {
	p, trials := s.p, s.trials
	return func() string {
		switch {
		case name == nil:
			return ""
		case trials == 1:
			return fmt.Sprintf("[%s] ", name(0))
		case p.mailbox == nil:
			return fmt.Sprintf("[%s to %s] ", name(0), name(trials-1))
		}
		p.memUse.RLock()
		defer p.memUse.RUnlock()
		begun := uint32(1)
		if p.mailboxMemory.Bytes() != nil {
			begun, _, _ = p.mailbox.Progress()
		}
		return fmt.Sprintf("[near %s] ", name(min(max(int(begun), 1), trials)-1))
	}
}
