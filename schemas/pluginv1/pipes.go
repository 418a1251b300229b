package pluginv1

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"google.golang.org/protobuf/proto"
)

// Pipes carries the messages of sessions over a pair of pipes, in the form that plugin.proto describes.
// Send and Receive may be called at the same time, each by one goroutine.
type Pipes struct {
	from    *bufio.Reader // buffered, so that one system call reads a short message with its length
	to      io.Writer
	in, out []byte
}

// lengthSize is the number of bytes before a message.
const lengthSize = 4

// NewPipes returns pipes that receive messages from one end and send them to the other.
func NewPipes(from io.Reader, to io.Writer) *Pipes {
	return &Pipes{from: bufio.NewReader(from), to: to}
}

// Send sends a message. It blocks until the other side has read nearly all of it.
func (p *Pipes) Send(m proto.Message) (err error) {
	p.out, err = proto.MarshalOptions{}.MarshalAppend(append(p.out[:0], make([]byte, lengthSize)...), m)
	if err != nil {
		return err
	}
	length := len(p.out) - lengthSize
	if length > MaxMessage {
		return fmt.Errorf("a message of %d bytes is longer than the limit of %d", length, MaxMessage)
	}
	binary.LittleEndian.PutUint32(p.out, uint32(length))
	_, err = p.to.Write(p.out)
	return err
}

// Receive reads the next message into m. At the end of the pipe it returns io.EOF.
func (p *Pipes) Receive(m proto.Message) error {
	if err := p.read(lengthSize); err != nil {
		return err
	}
	length := binary.LittleEndian.Uint32(p.in)
	if length > MaxMessage {
		return fmt.Errorf("a message of %d bytes is longer than the limit of %d", length, MaxMessage)
	}
	if err := p.read(int(length)); err != nil {
		return err
	}
	if proto.Unmarshal(p.in, m) != nil {
		return errors.New("its message cannot be decoded") // the library's text differs from run to run
	}
	return nil
}

// read reads n bytes into p.in.
func (p *Pipes) read(n int) error {
	if cap(p.in) < n {
		p.in = make([]byte, n)
	}
	p.in = p.in[:n]
	_, err := io.ReadFull(p.from, p.in)
	return err
}
