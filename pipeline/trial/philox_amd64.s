#include "textflag.h"

// The lanes count up from the first counter.
DATA lanes<>+0(SB)/8, $0
DATA lanes<>+8(SB)/8, $1
DATA lanes<>+16(SB)/8, $2
DATA lanes<>+24(SB)/8, $3
DATA lanes<>+32(SB)/8, $4
DATA lanes<>+40(SB)/8, $5
DATA lanes<>+48(SB)/8, $6
DATA lanes<>+56(SB)/8, $7
GLOBL lanes<>(SB), RODATA|NOPTR, $64

// The two multipliers, then what is added to the two words of the key after each round.
DATA constants<>+0(SB)/4, $0xD2511F53
DATA constants<>+4(SB)/4, $0xCD9E8D57
DATA constants<>+8(SB)/4, $0x9E3779B9
DATA constants<>+12(SB)/4, $0xBB67AE85
GLOBL constants<>(SB), RODATA|NOPTR, $16

// ROUND does one round of four blocks, a lane of 64 bits each, of whose words only the low halves
// count.
#define ROUND(c0, c1, c2, c3) \
	VPMULUDQ Y8, c0, Y14; \
	VPMULUDQ Y9, c2, Y15; \
	VPSRLQ   $32, Y15, c0; \
	VPSRLQ   $32, Y14, c2; \
	VPXOR    c1, c0, c0; \
	VPXOR    c3, c2, c2; \
	VPXOR    Y10, c0, c0; \
	VPXOR    Y11, c2, c2; \
	VMOVDQA  Y15, c1; \
	VMOVDQA  Y14, c3

// STORE stores four blocks, two words of 64 bits each, from the given byte on.
#define STORE(at, c0, c1, c2, c3) \
	VPSLLQ       $32, c0, c0; \
	VPSLLQ       $32, c2, c2; \
	VPBLENDD     $0xAA, c0, c1, c0; \
	VPBLENDD     $0xAA, c2, c3, c2; \
	VPUNPCKLQDQ  c2, c0, Y14; \
	VPUNPCKHQDQ  c2, c0, Y15; \
	VEXTRACTI128 $0, Y14, (at+0)(DI); \
	VEXTRACTI128 $0, Y15, (at+16)(DI); \
	VEXTRACTI128 $1, Y14, (at+32)(DI); \
	VEXTRACTI128 $1, Y15, (at+48)(DI)

// func philox8(words *[16]uint64, ctr *[4]uint32, key *[2]uint32)
TEXT ·philox8(SB), NOSPLIT, $0-24
	MOVQ words+0(FP), DI
	MOVQ ctr+8(FP), SI
	MOVQ key+16(FP), DX

	VPBROADCASTD (SI), Y4
	VPADDD       lanes<>+0(SB), Y4, Y0
	VPADDD       lanes<>+32(SB), Y4, Y4
	VPBROADCASTD 4(SI), Y1
	VMOVDQA      Y1, Y5
	VPBROADCASTD 8(SI), Y2
	VMOVDQA      Y2, Y6
	VPBROADCASTD 12(SI), Y3
	VMOVDQA      Y3, Y7
	VPBROADCASTD constants<>+0(SB), Y8
	VPBROADCASTD constants<>+4(SB), Y9
	VPBROADCASTD (DX), Y10
	VPBROADCASTD 4(DX), Y11
	VPBROADCASTD constants<>+8(SB), Y12
	VPBROADCASTD constants<>+12(SB), Y13

	MOVQ $10, CX

round:
	ROUND(Y0, Y1, Y2, Y3)
	ROUND(Y4, Y5, Y6, Y7)
	VPADDD Y12, Y10, Y10
	VPADDD Y13, Y11, Y11
	DECQ   CX
	JNZ    round

	STORE(0, Y0, Y1, Y2, Y3)
	STORE(64, Y4, Y5, Y6, Y7)
	VZEROUPPER
	RET
