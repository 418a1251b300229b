package ledger

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"iter"
)

// A file of the ledger is a sequence of frames. All numbers are little-endian.
//
//	0  marker, 8 bytes
//	8  length of the message, 4 bytes
//	12 kind, 4 bytes
//	16 CRC-32C of the message, 4 bytes
//	20 CRC-32C of bytes 0 to 19, 4 bytes
//	24 message, then zeros up to a multiple of 8
//
// The header has its own checksum. If only the message is damaged, its length is still valid, and
// the next frame is found at once. If the header is damaged, the reader searches for the next
// sound header.
const (
	frameMarker = "\x93SHTRLG\n"
	frameHeader = 24
	maxMessage  = 1 << 26
)

// Kinds of frames.
const (
	frameOutcomes  = 1 // a message with new information
	frameConflicts = 2 // a message that only contradicts recorded outcomes: evidence, never an outcome
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// frameSize returns the size of the frame of a message of n bytes.
func frameSize(n int) int { return frameHeader + (n+7)/8*8 }

// AppendFrame appends to dst the frame of a message with outcomes, in the format of a ledger
// file.
func AppendFrame(dst, msg []byte) []byte { return appendFrame(dst, frameOutcomes, msg) }

func appendFrame(dst []byte, kind uint32, msg []byte) []byte {
	start := len(dst)
	dst = append(dst, frameMarker...)
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(msg)))
	dst = binary.LittleEndian.AppendUint32(dst, kind)
	dst = binary.LittleEndian.AppendUint32(dst, crc32.Checksum(msg, castagnoli))
	dst = binary.LittleEndian.AppendUint32(dst, crc32.Checksum(dst[start:], castagnoli))
	dst = append(dst, msg...)
	return append(dst, make([]byte, frameSize(len(msg))-frameHeader-len(msg))...)
}

// header is the header of a frame.
type header struct {
	length int // length of the message
	kind   uint32
	crc    uint32
}

// readHeader reads the header at the start of b. It returns false if there is no sound header.
func readHeader(b []byte) (header, bool) {
	if len(b) < frameHeader || string(b[:8]) != frameMarker ||
		binary.LittleEndian.Uint32(b[20:]) != crc32.Checksum(b[:20], castagnoli) {
		return header{}, false
	}
	h := header{
		length: int(binary.LittleEndian.Uint32(b[8:])),
		kind:   binary.LittleEndian.Uint32(b[12:]),
		crc:    binary.LittleEndian.Uint32(b[16:]),
	}
	return h, h.length <= maxMessage
}

// Frame is a range of a file of frames: a sound frame, or a damaged part.
type Frame struct {
	Offset, End int    // range of its bytes in the file
	Message     []byte // a view into the file's bytes; nil if it is damaged
	Damage      string // description of the damage; empty: the frame is sound

	kind uint32
}

// Frames splits the content of a file into frames and damaged parts, which together cover all of
// its bytes, in order.
func Frames(b []byte) iter.Seq[Frame] {
	return func(yield func(Frame) bool) {
		for at := 0; at < len(b); {
			f := frameAt(b, at)
			if !yield(f) {
				return
			}
			at = f.End
		}
	}
}

// frameAt returns the frame or the damaged part of b that starts at the offset at, before its end.
func frameAt(b []byte, at int) Frame {
	h, ok := readHeader(b[at:])
	if !ok {
		return Frame{Offset: at, End: nextHeader(b, at+1), Damage: "no frame starts here"}
	}
	end := at + frameSize(h.length)
	if end > len(b) {
		return Frame{Offset: at, End: nextHeader(b, at+1), Damage: "frame is cut short"}
	}
	from, to := at+frameHeader, at+frameHeader+h.length
	msg := b[from:to:to]
	if crc32.Checksum(msg, castagnoli) != h.crc {
		return Frame{Offset: at, End: end, Damage: "checksum does not match"}
	}
	return Frame{Offset: at, End: end, kind: h.kind, Message: msg}
}

// nextHeader returns the offset of the first sound header of b at or after the offset at, or the
// end of b if there is none.
func nextHeader(b []byte, at int) int {
	for at < len(b) {
		i := bytes.Index(b[at:], []byte(frameMarker))
		if i < 0 {
			break
		}
		at += i
		if _, ok := readHeader(b[at:]); ok {
			return at
		}
		at++
	}
	return len(b)
}
