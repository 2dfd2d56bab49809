/*
 * Elements of the field of secp256k1 in lanes of AVX-512 (IFMA): five limbs of 52 bits, lowest first, of a number below 2^257 that is only congruent to what
 * it stands for. IFMA takes the lowest 52 bits of its operands, so limbs of factors are exactly that.
 */
#undef LANES_LIMBS
#undef LANES_LIMB_BITS
#undef LANES_LIMB
#undef LANES_TOP
#define LANES_LIMBS 5
#define LANES_LIMB_BITS 52
/* 2^256 and 2^260 modulo p */
#define LANES_C 0x1000003d1ull
#define LANES_C16 0x1000003d10ull
#define LANES_LIMB 0xfffffffffffffull
#define LANES_TOP 0xffffffffffffull

#include "secp256k1-limbs.h"

LANES_INLINE void lanes_carry(V *t, int from, int to) {
  UNROLLED for (int i = from; i < to; i++) {
    t[i + 1] = V_ADD(t[i + 1], _mm512_srai_epi64(t[i], 52));
    t[i] = V_AND(t[i], V_ALL(LANES_LIMB));
  }
}

/* Of limbs between ±2^60: the multiple of p that leaves a number from 2^256 − 2^220 to 2^257 + 2^220 is subtracted. */
LANES_INLINE lanes lanes_reduced(lanes a) {
  V *t = a.l;
  V q = V_SUB(_mm512_srai_epi64(t[4], 48), V_ALL(1));
  t[4] = V_SUB(t[4], V_SHL(q, 48));
  /* q·c, q of less than 32 bits */
  t[0] = V_ADD(t[0], V_ADD(V_SHL(q, 32), _mm512_mul_epi32(q, V_ALL(0x3d1))));
  lanes_carry(t, 0, 4);
  return a;
}

/* Ten columns of a product below 2^520 → an element */
LANES_INLINE lanes lanes_folded(V *t) {
  lanes_carry(t, 5, 9);
  const V fold = V_ALL(LANES_C16);
  UNROLLED for (int i = 0; i < 5; i++) t[i] = _mm512_madd52lo_epu64(t[i], t[i + 5], fold);
  UNROLLED for (int i = 0; i < 4; i++) t[i + 1] = _mm512_madd52hi_epu64(t[i + 1], t[i + 5], fold);
  const V above = _mm512_madd52hi_epu64(V_ZERO, t[9], fold);
  /* what is above 256 bits */
  const V q = V_ADD(V_SHR(t[4], 48), V_SHL(above, 4));
  t[4] = V_AND(t[4], V_ALL(LANES_TOP));
  t[0] = _mm512_madd52lo_epu64(t[0], q, V_ALL(LANES_C));
  t[1] = _mm512_madd52hi_epu64(t[1], q, V_ALL(LANES_C));
  lanes_carry(t, 0, 4);
  lanes r;
  UNROLLED for (int i = 0; i < 5; i++) r.l[i] = t[i];
  return r;
}

LANES_INLINE lanes lanes_product(lanes a, lanes b) {
  V t[10];
  UNROLLED for (int i = 0; i < 10; i++) t[i] = V_ZERO;
  UNROLLED for (int i = 0; i < 5; i++) {
    UNROLLED for (int j = 0; j < 5; j++) t[i + j] = _mm512_madd52lo_epu64(t[i + j], a.l[i], b.l[j]);
    UNROLLED for (int j = 0; j < 5; j++) t[i + j + 1] = _mm512_madd52hi_epu64(t[i + j + 1], a.l[i], b.l[j]);
  }
  return lanes_folded(t);
}

LANES_INLINE lanes lanes_square(lanes a) {
  V t[10];
  UNROLLED for (int i = 0; i < 10; i++) t[i] = V_ZERO;
  UNROLLED for (int i = 0; i < 4; i++) {
    UNROLLED for (int j = i + 1; j < 5; j++) {
      t[i + j] = _mm512_madd52lo_epu64(t[i + j], a.l[i], a.l[j]);
      t[i + j + 1] = _mm512_madd52hi_epu64(t[i + j + 1], a.l[i], a.l[j]);
    }
  }
  UNROLLED for (int i = 1; i < 9; i++) t[i] = V_ADD(t[i], t[i]);
  UNROLLED for (int i = 0; i < 5; i++) {
    t[2 * i] = _mm512_madd52lo_epu64(t[2 * i], a.l[i], a.l[i]);
    t[2 * i + 1] = _mm512_madd52hi_epu64(t[2 * i + 1], a.l[i], a.l[i]);
  }
  return lanes_folded(t);
}

/* The number below p, of limbs as `lanes_reduced` takes them. */
LANES static lanes lanes_canonical(lanes a) {
  a = lanes_reduced(a);
  V *t = a.l;
  UNROLLED for (int i = 0; i < 2; i++) {
    const V q = V_SHR(t[4], 48);
    t[4] = V_AND(t[4], V_ALL(LANES_TOP));
    t[0] = _mm512_madd52lo_epu64(t[0], q, V_ALL(LANES_C));
    lanes_carry(t, 0, 4);
  }
  lanes less = a;
  less.l[0] = V_ADD(less.l[0], V_ALL(LANES_C));
  lanes_carry(less.l, 0, 4);
  const lanes_mask is_above = V_ANY_BIT(less.l[4], V_ALL(1ull << 48));
  less.l[4] = V_AND(less.l[4], V_ALL(LANES_TOP));
  return lanes_chosen(is_above, a, less);
}
