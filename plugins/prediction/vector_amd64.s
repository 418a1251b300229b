#include "textflag.h"

// func countAVX2(v, u []float64, stride, n int) int
//
// Y0 to Y3 hold the products of sixteen vectors, Y8 in each lane the count, as whole numbers.
TEXT ·countAVX2(SB), NOSPLIT, $0-72
	MOVQ   v_base+0(FP), SI
	MOVQ   u_base+24(FP), DX
	MOVQ   u_len+32(FP), R8
	MOVQ   stride+48(FP), R9
	MOVQ   n+56(FP), CX
	SHLQ   $3, R9
	VXORPD Y7, Y7, Y7
	VXORPD Y8, Y8, Y8
	SUBQ   $16, CX
	JLT    few

sixteen:
	VXORPD Y0, Y0, Y0
	VXORPD Y1, Y1, Y1
	VXORPD Y2, Y2, Y2
	VXORPD Y3, Y3, Y3
	MOVQ   SI, DI
	XORQ   AX, AX
	CMPQ   AX, R8
	JGE    judge

coordinate:
	VBROADCASTSD (DX)(AX*8), Y4
	VMULPD       (DI), Y4, Y5
	VMULPD       32(DI), Y4, Y6
	VADDPD       Y5, Y0, Y0
	VADDPD       Y6, Y1, Y1
	VMULPD       64(DI), Y4, Y5
	VMULPD       96(DI), Y4, Y6
	VADDPD       Y5, Y2, Y2
	VADDPD       Y6, Y3, Y3
	ADDQ         R9, DI
	INCQ         AX
	CMPQ         AX, R8
	JLT          coordinate

judge:
	VCMPPD $13, Y7, Y0, Y0 // at least: -1 in each lane where it holds, else 0
	VCMPPD $13, Y7, Y1, Y1
	VCMPPD $13, Y7, Y2, Y2
	VCMPPD $13, Y7, Y3, Y3
	VPADDQ Y1, Y0, Y0
	VPADDQ Y3, Y2, Y2
	VPADDQ Y2, Y0, Y0
	VPSUBQ Y0, Y8, Y8
	ADDQ   $128, SI
	SUBQ   $16, CX
	JGE    sixteen

few:
	ADDQ $12, CX // what is left, less 4
	JLT  done

four:
	VXORPD Y0, Y0, Y0
	MOVQ   SI, DI
	XORQ   AX, AX
	CMPQ   AX, R8
	JGE    judgeFour

coordinateOfFour:
	VBROADCASTSD (DX)(AX*8), Y4
	VMULPD       (DI), Y4, Y5
	VADDPD       Y5, Y0, Y0
	ADDQ         R9, DI
	INCQ         AX
	CMPQ         AX, R8
	JLT          coordinateOfFour

judgeFour:
	VCMPPD $13, Y7, Y0, Y0
	VPSUBQ Y0, Y8, Y8
	ADDQ   $32, SI
	SUBQ   $4, CX
	JGE    four

done:
	VEXTRACTI128 $1, Y8, X0
	VPADDQ       X0, X8, X0
	VPSHUFD      $0x4E, X0, X1
	VPADDQ       X1, X0, X0
	MOVQ         X0, ret+64(FP)
	VZEROUPPER
	RET
