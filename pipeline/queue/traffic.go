package queue

// Traffic is what a connection has carried since it was made.
type Traffic struct {
	Connected         bool // at the moment
	Reconnects        uint64
	Sent, Received    uint64 // messages
	BytesOut, BytesIn uint64
}

// Traffic returns what the connection has carried so far.
func (c *Conn) Traffic() Traffic {
	s := c.nc.Stats()
	return Traffic{
		Connected: c.nc.IsConnected(), Reconnects: s.Reconnects,
		Sent: s.OutMsgs, Received: s.InMsgs, BytesOut: s.OutBytes, BytesIn: s.InBytes,
	}
}
