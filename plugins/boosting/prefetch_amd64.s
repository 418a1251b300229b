#include "textflag.h"

// func prefetch(x []float64)
TEXT ·prefetch(SB), NOSPLIT, $0-24
	MOVQ x_base+0(FP), AX
	MOVQ x_len+8(FP), CX

loop:
	PREFETCHT0 (AX)
	ADDQ       $64, AX
	SUBQ       $8, CX
	JGT        loop
	RET
