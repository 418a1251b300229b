#include "textflag.h"

// func prefetch(x []float64)
TEXT ·prefetch(SB), NOSPLIT, $0-24
	MOVD x_base+0(FP), R0
	MOVD x_len+8(FP), R1

loop:
	PRFM (R0), PLDL1KEEP
	ADD  $64, R0
	SUBS $8, R1
	BGT  loop
	RET
