package queue

import "context"

// Storage is the disk space that the streams of the account use on the server.
type Storage struct {
	Used, Limit int64 // bytes; a Limit below 1: unlimited
	Streams     int
}

// Storage returns the disk space that the account uses.
func (c *Conn) Storage(ctx context.Context) (Storage, error) {
	info, err := c.js.AccountInfo(ctx)
	if err != nil {
		return Storage{}, err
	}
	return Storage{int64(info.Store), info.Limits.MaxStore, info.Streams}, nil
}
