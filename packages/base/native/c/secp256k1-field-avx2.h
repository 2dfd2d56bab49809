/*
 * Elements of the field of secp256k1 in lanes of AVX2, whose multiplication takes factors of 32 bits: nine limbs, lowest first, of a number below 2^257 that is
 * only congruent to what it stands for. The highest limb is below 2^24 + 2^8, the lowest two below 2^29 + 2^27, the others below 2^29 + 2^6.
 */
#undef LANES_LIMBS
#undef LANES_LIMB_BITS
#undef LANES_LIMB
#undef LANES_TOP
#define LANES_LIMBS 9
#define LANES_LIMB_BITS 29
#define LANES_LIMB 0x1fffffffull
#define LANES_TOP 0xffffffull

#include "secp256k1-limbs.h"

#define LANES_TIMES(a, b) _mm256_mul_epu32(a, b)

LANES_INLINE void lanes_carry(V *t, int from, int to) {
  UNROLLED for (int i = from; i < to; i++) {
    t[i + 1] = V_ADD(t[i + 1], V_SHR(t[i], 29));
    t[i] = V_AND(t[i], V_ALL(LANES_LIMB));
  }
}

/* What is above 256 bits, less than 32 bits of it, is added as what it is modulo p: 2^256 = 2^32 + 977. */
LANES_INLINE void lanes_fold_top(V *t) {
  const V q = V_SHR(t[8], 24);
  t[8] = V_AND(t[8], V_ALL(LANES_TOP));
  t[0] = V_ADD(t[0], LANES_TIMES(q, V_ALL(977)));
  t[1] = V_ADD(t[1], V_SHL(q, 3));
}

/* Of limbs between ±2^33, the highest between ±2^29: 64·p, written with limbs above those, makes them positive; each carries once. */
LANES_INLINE lanes lanes_reduced(lanes a) {
  V *t = a.l;
  t[0] = V_ADD(t[0], V_ALL((1ull << 34) - 64 * 977));
  t[1] = V_ADD(t[1], V_ALL((1ull << 34) - (1 << 5) - (1 << 9)));
  UNROLLED for (int i = 2; i < 8; i++) t[i] = V_ADD(t[i], V_ALL((1ull << 34) - (1 << 5)));
  t[8] = V_ADD(t[8], V_ALL((1ull << 30) - (1 << 5)));
  V carried[8];
  UNROLLED for (int i = 0; i < 8; i++) {
    carried[i] = V_SHR(t[i], 29);
    t[i] = V_AND(t[i], V_ALL(LANES_LIMB));
  }
  lanes_fold_top(t);
  UNROLLED for (int i = 0; i < 8; i++) t[i + 1] = V_ADD(t[i + 1], carried[i]);
  return a;
}

/* Seventeen columns of a product → an element. 2^261 = 2^37 + 31264 modulo p */
LANES_INLINE lanes lanes_folded(V *t) {
  const V fold = V_ALL(32 * 977), limb = V_ALL(LANES_LIMB);
  V u[9];
  t[9] = V_ADD(t[9], V_SHR(t[8], 29));
  t[8] = V_AND(t[8], limb);
  /* limbs of what is above 261 bits, each below 2^32: a column from the ninth on is below 7·2^58 */
  u[0] = V_AND(t[9], limb);
  UNROLLED for (int i = 1; i < 8; i++) u[i] = V_ADD(V_AND(t[9 + i], limb), V_SHR(t[8 + i], 29));
  u[8] = V_SHR(t[16], 29);
  UNROLLED for (int i = 0; i < 9; i++) t[i] = V_ADD(t[i], LANES_TIMES(u[i], fold));
  UNROLLED for (int i = 0; i < 8; i++) t[i + 1] = V_ADD(t[i + 1], V_SHL(u[i], 8));
  /* the ninth limb shifted so is above 261 bits again, with less than 32 bits */
  const V again = V_SHL(u[8], 8);
  t[0] = V_ADD(t[0], LANES_TIMES(again, fold));
  t[1] = V_ADD(t[1], V_SHL(again, 8));
  /* from the lowest and the fourth limb on at the same time */
  UNROLLED for (int i = 0; i < 4; i++) {
    lanes_carry(t, 4 + i, 5 + i);
    lanes_carry(t, i, i + 1);
  }
  lanes_fold_top(t);
  lanes_carry(t, 4, 5);
  lanes r;
  UNROLLED for (int i = 0; i < 9; i++) r.l[i] = t[i];
  return r;
}

LANES_INLINE lanes lanes_product(lanes a, lanes b) {
  V t[17];
  UNROLLED for (int k = 0; k < 17; k++) {
    const int first = k < 9 ? 0 : k - 8, last = k - first;
    t[k] = LANES_TIMES(a.l[first], b.l[last]);
    UNROLLED for (int i = first + 1; i <= last; i++) t[k] = V_ADD(t[k], LANES_TIMES(a.l[i], b.l[k - i]));
  }
  return lanes_folded(t);
}

LANES_INLINE lanes lanes_square(lanes a) {
  V t[17], twice[9];
  UNROLLED for (int i = 0; i < 9; i++) twice[i] = V_ADD(a.l[i], a.l[i]);
  UNROLLED for (int k = 0; k < 17; k++) {
    const int first = k < 9 ? 0 : k - 8;
    t[k] = first == k - first ? LANES_TIMES(a.l[first], a.l[first]) : LANES_TIMES(twice[first], a.l[k - first]);
    UNROLLED for (int i = first + 1; 2 * i < k; i++) t[k] = V_ADD(t[k], LANES_TIMES(twice[i], a.l[k - i]));
    if (k % 2 == 0 && 2 * first < k) t[k] = V_ADD(t[k], LANES_TIMES(a.l[k / 2], a.l[k / 2]));
  }
  return lanes_folded(t);
}

/* The number below p, of limbs as `lanes_reduced` takes them. */
LANES static lanes lanes_canonical(lanes a) {
  a = lanes_reduced(a);
  V *t = a.l;
  lanes_carry(t, 0, 8);
  UNROLLED for (int i = 0; i < 2; i++) {
    lanes_fold_top(t);
    lanes_carry(t, 0, 8);
  }
  /* p is subtracted by adding 2^256 − p */
  lanes less = a;
  less.l[0] = V_ADD(less.l[0], V_ALL(977));
  less.l[1] = V_ADD(less.l[1], V_ALL(1 << 3));
  lanes_carry(less.l, 0, 8);
  const lanes_mask is_above = V_ANY_BIT(less.l[8], V_ALL(1 << 24));
  less.l[8] = V_AND(less.l[8], V_ALL(LANES_TOP));
  return lanes_chosen(is_above, a, less);
}
