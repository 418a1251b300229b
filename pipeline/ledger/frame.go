package ledger

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
)

// A file of the ledger is a row of frames. All numbers are little-endian.
//
//	0  marker, 8 bytes
//	8  length of the message, 4 bytes
//	12 kind, 4 bytes
//	16 CRC-32C of the message, 4 bytes
//	20 CRC-32C of bytes 0 to 19, 4 bytes
//	24 message, then zeros up to a multiple of 8
//
// The header has a checksum of its own: where only the message is damaged, its length can still be trusted and the next
// frame is found at once. Where the header is damaged, the next sound header is looked for.
const (
	frameMarker = "\x93SHTRLG\n"
	frameHeader = 24
	maxMessage  = 1 << 26
)

// Kinds of frames.
const (
	FrameOutcomes  = 1 // a message that brought something new
	frameConflicts = 2 // a message that only differs from what was known: evidence, never an outcome
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// frameSize is the bytes that the frame of a message of n bytes takes.
func frameSize(n int) int { return frameHeader + (n+7)/8*8 }

func AppendFrame(dst []byte, kind uint32, msg []byte) []byte {
	start := len(dst)
	dst = append(dst, frameMarker...)
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(msg)))
	dst = binary.LittleEndian.AppendUint32(dst, kind)
	dst = binary.LittleEndian.AppendUint32(dst, crc32.Checksum(msg, castagnoli))
	dst = binary.LittleEndian.AppendUint32(dst, crc32.Checksum(dst[start:], castagnoli))
	dst = append(dst, msg...)
	return append(dst, make([]byte, frameSize(len(msg))-frameHeader-len(msg))...)
}

// header is a frame's header, and whether it is sound.
type header struct {
	length int
	kind   uint32
	crc    uint32
}

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

// message is the message of the frame that b starts with, if it is whole and sound.
func (h header) message(b []byte) ([]byte, bool) {
	if frameSize(h.length) > len(b) {
		return nil, false
	}
	msg := b[frameHeader : frameHeader+h.length : frameHeader+h.length]
	return msg, crc32.Checksum(msg, castagnoli) == h.crc
}

// piece is a range of a file: a frame, or, with a reason, a damaged part.
type piece struct {
	At, End int
	kind    uint32
	Msg     []byte
	Reason  string
}

// nextPiece is the piece of b that starts at at, which is before the end.
func NextPiece(b []byte, at int) piece {
	h, ok := readHeader(b[at:])
	if !ok {
		return piece{At: at, End: nextHeader(b, at+1), Reason: "no frame starts here"}
	}
	end := at + frameSize(h.length)
	msg, ok := h.message(b[at:])
	switch {
	case ok:
		return piece{At: at, End: end, kind: h.kind, Msg: msg}
	case end > len(b):
		return piece{At: at, End: nextHeader(b, at+1), Reason: "frame is cut short"}
	default:
		return piece{At: at, End: end, Reason: "checksum does not match"}
	}
}

// nextHeader is where the first sound header from at on starts, or the end of b.
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
