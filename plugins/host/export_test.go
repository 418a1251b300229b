package host

// ByGRPC returns the command of a process that takes no sessions from a mailbox.
func ByGRPC(c Command) Command {
	c.noMailbox = true
	return c
}
