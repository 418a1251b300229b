#include "textflag.h"

// The functions of this file are described in avx2_amd64.go. They work on four numbers at a time
// in the order of their twins in Go, and without fused multiply-adds, so that they have their bits.
//
// They prefetch into the second cache. The nearest one takes only a few lines at a time from memory,
// and the processor follows by itself what lies in the second.

// ROWS sets R9, R10 and R11 to the rows after the one at SI, each of R8 bytes.
#define ROWS \
	LEAQ (SI)(R8*1), R9  \
	LEAQ (SI)(R8*2), R10 \
	LEAQ (R9)(R8*2), R11

// func innerAVX2(out, x, v []float64, ahead int)
//
// Each lane of Y0 and Y1 holds the sum of one of eight rows. A step transposes two columns of them.
TEXT ·innerAVX2(SB), NOSPLIT, $0-80
	MOVQ out_base+0(FP), DI
	MOVQ out_len+8(FP), CX
	MOVQ x_base+24(FP), SI
	MOVQ v_base+48(FP), DX
	MOVQ v_len+56(FP), R8
	MOVQ ahead+72(FP), R12
	SHLQ $3, R8
	LEAQ (R8)(R8*2), R10  // three rows
	LEAQ (R8)(R8*4), R11
	ADDQ R8, R11
	ADDQ R8, R11          // seven rows
	SHRQ $3, CX
	JZ   done

rows:
	LEAQ   (SI)(R8*4), R9
	LEAQ   (SI)(R12*1), R13
	VXORPD Y0, Y0, Y0
	VXORPD Y1, Y1, Y1
	XORQ   AX, AX
	MOVQ   R8, BX
	SUBQ   $16, BX
	JLT    odd

pair:
	PREFETCHT1   (R13)
	PREFETCHT1   64(R13)
	ADDQ         $128, R13
	VMOVUPD      (SI), X2
	VINSERTF128  $1, (SI)(R8*2), Y2, Y2
	VMOVUPD      (SI)(R8*1), X3
	VINSERTF128  $1, (SI)(R10*1), Y3, Y3
	VMOVUPD      (R9), X4
	VINSERTF128  $1, (R9)(R8*2), Y4, Y4
	VMOVUPD      (R9)(R8*1), X5
	VINSERTF128  $1, (R9)(R10*1), Y5, Y5
	VBROADCASTSD (DX)(AX*1), Y6
	VBROADCASTSD 8(DX)(AX*1), Y7
	VUNPCKLPD    Y3, Y2, Y8
	VUNPCKHPD    Y3, Y2, Y9
	VUNPCKLPD    Y5, Y4, Y10
	VUNPCKHPD    Y5, Y4, Y11
	VMULPD       Y6, Y8, Y8
	VMULPD       Y7, Y9, Y9
	VMULPD       Y6, Y10, Y10
	VMULPD       Y7, Y11, Y11
	VADDPD       Y8, Y0, Y0
	VADDPD       Y10, Y1, Y1
	VADDPD       Y9, Y0, Y0
	VADDPD       Y11, Y1, Y1
	ADDQ         $16, SI
	ADDQ         $16, R9
	ADDQ         $16, AX
	CMPQ         AX, BX
	JLE          pair

odd:
	TESTQ        $8, R8
	JZ           store
	PREFETCHT1   (R13)
	VMOVSD       (SI), X2
	VMOVHPD      (SI)(R8*1), X2, X2
	VMOVSD       (SI)(R8*2), X3
	VMOVHPD      (SI)(R10*1), X3, X3
	VMOVSD       (R9), X4
	VMOVHPD      (R9)(R8*1), X4, X4
	VMOVSD       (R9)(R8*2), X5
	VMOVHPD      (R9)(R10*1), X5, X5
	VINSERTF128  $1, X3, Y2, Y2
	VINSERTF128  $1, X5, Y4, Y4
	VBROADCASTSD (DX)(AX*1), Y6
	VMULPD       Y6, Y2, Y2
	VMULPD       Y6, Y4, Y4
	VADDPD       Y2, Y0, Y0
	VADDPD       Y4, Y1, Y1
	ADDQ         $8, SI

store:
	VMOVUPD Y0, (DI)
	VMOVUPD Y1, 32(DI)
	ADDQ    $64, DI
	ADDQ    R11, SI
	DECQ    CX
	JNZ     rows

done:
	VZEROUPPER
	RET

// func gatherAVX2(acc, x, w []float64, ahead int)
//
// Each lane holds one column. Y0 to Y3 hold the weights of four rows.
TEXT ·gatherAVX2(SB), NOSPLIT, $0-80
	MOVQ acc_base+0(FP), DI
	MOVQ acc_len+8(FP), R8
	MOVQ x_base+24(FP), SI
	MOVQ w_base+48(FP), DX
	MOVQ w_len+56(FP), CX
	MOVQ ahead+72(FP), R12
	SHLQ $3, R8
	LEAQ -32(R8), BX
	SHRQ $2, CX
	JZ   done

rows:
	ROWS
	LEAQ         (SI)(R12*1), R13
	VBROADCASTSD (DX), Y0
	VBROADCASTSD 8(DX), Y1
	VBROADCASTSD 16(DX), Y2
	VBROADCASTSD 24(DX), Y3
	XORQ         AX, AX
	CMPQ         AX, BX
	JGT          pair

four:
	PREFETCHT1 (R13)(AX*4)
	PREFETCHT1 64(R13)(AX*4)
	VMULPD     (SI)(AX*1), Y0, Y4
	VMULPD     (R9)(AX*1), Y1, Y5
	VMULPD     (R10)(AX*1), Y2, Y6
	VMULPD     (R11)(AX*1), Y3, Y7
	VADDPD     Y5, Y4, Y4
	VADDPD     Y7, Y6, Y6
	VADDPD     Y6, Y4, Y4
	VADDPD     (DI)(AX*1), Y4, Y4
	VMOVUPD    Y4, (DI)(AX*1)
	ADDQ       $32, AX
	CMPQ       AX, BX
	JLE        four

pair:
	TESTQ      $16, R8
	JZ         odd
	PREFETCHT1 (R13)(AX*4)
	VMULPD     (SI)(AX*1), X0, X4
	VMULPD     (R9)(AX*1), X1, X5
	VMULPD     (R10)(AX*1), X2, X6
	VMULPD     (R11)(AX*1), X3, X7
	VADDPD     X5, X4, X4
	VADDPD     X7, X6, X6
	VADDPD     X6, X4, X4
	VADDPD     (DI)(AX*1), X4, X4
	VMOVUPD    X4, (DI)(AX*1)
	ADDQ       $16, AX

odd:
	TESTQ      $8, R8
	JZ         next
	PREFETCHT1 (R13)(AX*4)
	VMULSD     (SI)(AX*1), X0, X4
	VMULSD     (R9)(AX*1), X1, X5
	VMULSD     (R10)(AX*1), X2, X6
	VMULSD     (R11)(AX*1), X3, X7
	VADDSD     X5, X4, X4
	VADDSD     X7, X6, X6
	VADDSD     X6, X4, X4
	VADDSD     (DI)(AX*1), X4, X4
	VMOVSD     X4, (DI)(AX*1)

next:
	ADDQ $32, DX
	LEAQ (SI)(R8*4), SI
	DECQ CX
	JNZ  rows

done:
	VZEROUPPER
	RET

// func expAVX2(u, s []float64, shift float64)
TEXT ·expAVX2(SB), NOSPLIT, $0-56
	MOVQ         u_base+0(FP), DI
	MOVQ         s_base+24(FP), SI
	MOVQ         s_len+32(FP), CX
	VBROADCASTSD shift+48(FP), Y15
	LEAQ         ·powers(SB), R8
	LEAQ         ·expLanes(SB), R9
	VMOVUPD      (R9), Y14             // 64/ln 2
	VMOVUPD      32(R9), Y13           // roundMagic
	VMOVUPD      64(R9), Y12           // ln2Over64High
	VMOVUPD      96(R9), Y11           // ln2Over64Low
	VMOVUPD      128(R9), Y10          // 1/6
	VMOVUPD      160(R9), Y9           // 1/120
	VMOVUPD      192(R9), Y8           // 63, an integer
	SHRQ         $2, CX
	JZ           done

four:
	VADDPD      (SI), Y15, Y0          // x
	VMULPD      Y14, Y0, Y1
	VADDPD      Y13, Y1, Y1            // k, and its bits
	VPAND       Y8, Y1, Y2             // the index into powers
	VPXOR       Y2, Y1, Y3
	VPSLLQ      $46, Y3, Y3            // the exponent
	VPCMPEQQ    Y5, Y5, Y5
	VGATHERQPD  Y5, (R8)(Y2*8), Y4
	VPADDQ      Y3, Y4, Y4             // power
	VSUBPD      Y13, Y1, Y1
	VMULPD      Y12, Y1, Y2
	VSUBPD      Y2, Y0, Y2
	VMULPD      Y11, Y1, Y1
	VSUBPD      Y1, Y2, Y1             // r
	VMULPD      Y1, Y1, Y2             // q
	VMULPD      Y10, Y1, Y3
	VADDPD      224(R9), Y3, Y3        // 1/2
	VMULPD      Y3, Y2, Y3
	VADDPD      Y3, Y1, Y3
	VMULPD      Y9, Y1, Y5
	VADDPD      256(R9), Y5, Y5        // 1/24
	VMULPD      Y2, Y2, Y2
	VMULPD      Y5, Y2, Y5
	VADDPD      Y5, Y3, Y3             // p
	VMULPD      Y4, Y3, Y3
	VADDPD      Y3, Y4, Y4
	VCMPPD      $0x1d, 288(R9), Y0, Y1 // x >= -708
	VANDPD      Y1, Y4, Y4
	VCMPPD      $0x1e, 320(R9), Y0, Y1 // x > 709
	VBLENDVPD   Y1, 352(R9), Y4, Y4    // +Inf
	VMOVUPD     Y4, (DI)
	ADDQ        $32, SI
	ADDQ        $32, DI
	DECQ        CX
	JNZ         four

done:
	VZEROUPPER
	RET

// func splitAVX2(sums *[4]float64, u *[4 * blockRows]float64, factor, limit float64) (free int)
//
// Each lane holds the sum of one of four blocks. A step transposes two columns of the blocks.
TEXT ·splitAVX2(SB), NOSPLIT, $0-40
	MOVQ         sums+0(FP), DI
	MOVQ         u+8(FP), SI
	VBROADCASTSD factor+16(FP), Y15
	VBROADCASTSD limit+24(FP), Y14
	VXORPD       Y0, Y0, Y0
	VPXOR        Y1, Y1, Y1
	LEAQ         16384(SI), DX // prefetched: the blocks after the next four
	MOVQ         $128, CX      // pairs in a block

pair:
	PREFETCHT1  (DX)
	ADDQ        $64, DX
	VMOVUPD     (SI), X2
	VINSERTF128 $1, 4096(SI), Y2, Y2
	VMOVUPD     2048(SI), X3
	VINSERTF128 $1, 6144(SI), Y3, Y3
	VUNPCKLPD   Y3, Y2, Y4
	VUNPCKHPD   Y3, Y2, Y5
	VMULPD      Y15, Y4, Y6
	VMULPD      Y15, Y5, Y7
	VCMPPD      $0x19, Y14, Y6, Y6 // not factor*u >= limit
	VCMPPD      $0x19, Y14, Y7, Y7
	VPSUBQ      Y6, Y1, Y1
	VPSUBQ      Y7, Y1, Y1
	VANDPD      Y6, Y4, Y4
	VANDPD      Y7, Y5, Y5
	VADDPD      Y4, Y0, Y0
	VADDPD      Y5, Y0, Y0
	ADDQ        $16, SI
	DECQ        CX
	JNZ         pair

	VMOVUPD      Y0, (DI)
	VEXTRACTI128 $1, Y1, X2
	VPADDQ       X2, X1, X1
	VPSRLDQ      $8, X1, X2
	VPADDQ       X2, X1, X1
	VMOVQ        X1, AX
	MOVQ         AX, free+32(FP)
	VZEROUPPER
	RET

// func capAVX2(mu, u, y []float64, factor float64)
TEXT ·capAVX2(SB), NOSPLIT, $0-80
	MOVQ         mu_base+0(FP), DI
	MOVQ         u_base+24(FP), SI
	MOVQ         u_len+32(FP), CX
	MOVQ         y_base+48(FP), DX
	VBROADCASTSD factor+72(FP), Y15
	VMOVUPD      ·expLanes+384(SB), Y14 // 1
	XORQ         AX, AX
	SHRQ         $2, CX
	JZ           done

four:
	PREFETCHT1 4096(SI)(AX*1)
	PREFETCHT1 4096(DX)(AX*1)
	VMULPD     (SI)(AX*1), Y15, Y0
	VMINPD     Y14, Y0, Y0
	VMULPD     (DX)(AX*1), Y0, Y0
	VMOVUPD    Y0, (DI)(AX*1)
	ADDQ       $32, AX
	DECQ       CX
	JNZ        four

done:
	VZEROUPPER
	RET

// func lowerAVX2(s, h, y []float64, half float64, extremes *[8]float64)
TEXT ·lowerAVX2(SB), NOSPLIT, $0-88
	MOVQ         s_base+0(FP), DI
	MOVQ         h_base+24(FP), SI
	MOVQ         h_len+32(FP), CX
	MOVQ         y_base+48(FP), DX
	VBROADCASTSD half+72(FP), Y15
	MOVQ         extremes+80(FP), BX
	VMOVUPD      (BX), Y14
	VMOVUPD      32(BX), Y13
	XORQ         AX, AX
	SHRQ         $2, CX
	JZ           done

four:
	PREFETCHT1 4096(DI)(AX*1)
	PREFETCHT1 4096(DX)(AX*1)
	VMOVUPD    (SI)(AX*1), Y0
	VMULPD     (DX)(AX*1), Y0, Y0
	VMINPD     Y14, Y0, Y14
	VMAXPD     Y13, Y0, Y13
	VMULPD     Y15, Y0, Y0
	VMOVUPD    (DI)(AX*1), Y1
	VSUBPD     Y0, Y1, Y1
	VMOVUPD    Y1, (DI)(AX*1)
	ADDQ       $32, AX
	DECQ       CX
	JNZ        four

	VMOVUPD Y14, (BX)
	VMOVUPD Y13, 32(BX)

done:
	VZEROUPPER
	RET
