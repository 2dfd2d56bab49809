/*
 * Eight points of secp256k1 at once, one in each lane of the vectors of AVX-512 (IFMA). Included after the field secp256k1 by scripts/fields.mjs.
 *
 * An element: five limbs of 52 bits, lowest first, of a number below 2^257 that is only congruent to what it stands for. IFMA takes the lowest 52 bits
 * of its operands, so limbs of factors are exactly that. Sums and differences are made limb by limb and brought into that form by `lanes_reduced`.
 * Formulas: Explicit-Formulas Database, shortw/jacobian-0.
 */
#ifdef __x86_64__
#include <immintrin.h>

#define LANES __attribute__((target("avx512f,avx512ifma")))
#define LANES_INLINE LANES static inline __attribute__((always_inline))

typedef struct {
  __m512i l[5];
} lanes;
typedef struct {
  lanes x, y, z;
} lanes_point;

#define UNROLLED _Pragma("GCC unroll 32")
#define ALL(value) _mm512_set1_epi64((long long)(value))
/* 2^256 and 2^260 modulo p */
#define LANES_C 0x1000003d1ull
#define LANES_C16 0x1000003d10ull
#define LANES_LIMB 0xfffffffffffffull
#define LANES_TOP 0xffffffffffffull

LANES_INLINE void lanes_carry(__m512i *t, int from, int to) {
  UNROLLED for (int i = from; i < to; i++) {
    t[i + 1] = _mm512_add_epi64(t[i + 1], _mm512_srai_epi64(t[i], 52));
    t[i] = _mm512_and_si512(t[i], ALL(LANES_LIMB));
  }
}

/* Of limbs between ±2^60: the multiple of p that leaves a number from 2^256 − 2^220 to 2^257 + 2^220 is subtracted. */
LANES_INLINE lanes lanes_reduced(lanes a) {
  __m512i *t = a.l;
  __m512i q = _mm512_sub_epi64(_mm512_srai_epi64(t[4], 48), ALL(1));
  t[4] = _mm512_sub_epi64(t[4], _mm512_slli_epi64(q, 48));
  /* q·c, q of less than 32 bits */
  t[0] = _mm512_add_epi64(t[0], _mm512_add_epi64(_mm512_slli_epi64(q, 32), _mm512_mul_epi32(q, ALL(0x3d1))));
  lanes_carry(t, 0, 4);
  return a;
}

/* Limbs of the result are not reduced; see `lanes_reduced`. */
LANES_INLINE lanes lanes_plus(lanes a, lanes b) {
  UNROLLED for (int i = 0; i < 5; i++) a.l[i] = _mm512_add_epi64(a.l[i], b.l[i]);
  return a;
}

LANES_INLINE lanes lanes_minus(lanes a, lanes b) {
  UNROLLED for (int i = 0; i < 5; i++) a.l[i] = _mm512_sub_epi64(a.l[i], b.l[i]);
  return a;
}

LANES_INLINE lanes lanes_shifted(lanes a, int bits) {
  UNROLLED for (int i = 0; i < 5; i++) a.l[i] = _mm512_slli_epi64(a.l[i], bits);
  return a;
}

LANES_INLINE lanes lanes_chosen(__mmask8 second, lanes a, lanes b) {
  UNROLLED for (int i = 0; i < 5; i++) a.l[i] = _mm512_mask_blend_epi64(second, a.l[i], b.l[i]);
  return a;
}

/* Ten columns of a product below 2^520 → an element */
LANES_INLINE lanes lanes_folded(__m512i *t) {
  lanes_carry(t, 5, 9);
  const __m512i fold = ALL(LANES_C16), zero = _mm512_setzero_si512();
  UNROLLED for (int i = 0; i < 5; i++) t[i] = _mm512_madd52lo_epu64(t[i], t[i + 5], fold);
  UNROLLED for (int i = 0; i < 4; i++) t[i + 1] = _mm512_madd52hi_epu64(t[i + 1], t[i + 5], fold);
  const __m512i above = _mm512_madd52hi_epu64(zero, t[9], fold);
  /* what is above 256 bits */
  const __m512i q = _mm512_add_epi64(_mm512_srli_epi64(t[4], 48), _mm512_slli_epi64(above, 4));
  t[4] = _mm512_and_si512(t[4], ALL(LANES_TOP));
  t[0] = _mm512_madd52lo_epu64(t[0], q, ALL(LANES_C));
  t[1] = _mm512_madd52hi_epu64(t[1], q, ALL(LANES_C));
  lanes_carry(t, 0, 4);
  lanes r;
  UNROLLED for (int i = 0; i < 5; i++) r.l[i] = t[i];
  return r;
}

LANES_INLINE lanes lanes_product(lanes a, lanes b) {
  __m512i t[10];
  UNROLLED for (int i = 0; i < 10; i++) t[i] = _mm512_setzero_si512();
  UNROLLED for (int i = 0; i < 5; i++) {
    UNROLLED for (int j = 0; j < 5; j++) t[i + j] = _mm512_madd52lo_epu64(t[i + j], a.l[i], b.l[j]);
    UNROLLED for (int j = 0; j < 5; j++) t[i + j + 1] = _mm512_madd52hi_epu64(t[i + j + 1], a.l[i], b.l[j]);
  }
  return lanes_folded(t);
}

LANES_INLINE lanes lanes_square(lanes a) {
  __m512i t[10];
  UNROLLED for (int i = 0; i < 10; i++) t[i] = _mm512_setzero_si512();
  UNROLLED for (int i = 0; i < 4; i++) {
    UNROLLED for (int j = i + 1; j < 5; j++) {
      t[i + j] = _mm512_madd52lo_epu64(t[i + j], a.l[i], a.l[j]);
      t[i + j + 1] = _mm512_madd52hi_epu64(t[i + j + 1], a.l[i], a.l[j]);
    }
  }
  UNROLLED for (int i = 1; i < 9; i++) t[i] = _mm512_add_epi64(t[i], t[i]);
  UNROLLED for (int i = 0; i < 5; i++) {
    t[2 * i] = _mm512_madd52lo_epu64(t[2 * i], a.l[i], a.l[i]);
    t[2 * i + 1] = _mm512_madd52hi_epu64(t[2 * i + 1], a.l[i], a.l[i]);
  }
  return lanes_folded(t);
}

/* The number below p, of limbs as `lanes_reduced` takes them. */
LANES static lanes lanes_canonical(lanes a) {
  a = lanes_reduced(a);
  __m512i *t = a.l;
  UNROLLED for (int i = 0; i < 2; i++) {
    const __m512i q = _mm512_srli_epi64(t[4], 48);
    t[4] = _mm512_and_si512(t[4], ALL(LANES_TOP));
    t[0] = _mm512_madd52lo_epu64(t[0], q, ALL(LANES_C));
    lanes_carry(t, 0, 4);
  }
  lanes less = a;
  less.l[0] = _mm512_add_epi64(less.l[0], ALL(LANES_C));
  lanes_carry(less.l, 0, 4);
  const __mmask8 is_above = _mm512_test_epi64_mask(less.l[4], ALL(1ull << 48));
  less.l[4] = _mm512_and_si512(less.l[4], ALL(LANES_TOP));
  return lanes_chosen(is_above, a, less);
}

LANES static __mmask8 lanes_is_zero(lanes a) {
  a = lanes_canonical(a);
  __m512i any = a.l[0];
  UNROLLED for (int i = 1; i < 5; i++) any = _mm512_or_si512(any, a.l[i]);
  return _mm512_testn_epi64_mask(any, any);
}

/* Rows of eight words ↔ columns */
LANES_INLINE void lanes_transpose(__m512i *rows) {
  __m512i t[8], u[8];
  UNROLLED for (int i = 0; i < 8; i += 2) {
    t[i] = _mm512_unpacklo_epi64(rows[i], rows[i + 1]);
    t[i + 1] = _mm512_unpackhi_epi64(rows[i], rows[i + 1]);
  }
  UNROLLED for (int i = 0; i < 8; i += 4) {
    UNROLLED for (int j = 0; j < 2; j++) {
      u[i + j] = _mm512_shuffle_i64x2(t[i + j], t[i + j + 2], 0x88);
      u[i + j + 2] = _mm512_shuffle_i64x2(t[i + j], t[i + j + 2], 0xdd);
    }
  }
  UNROLLED for (int j = 0; j < 4; j++) {
    const __m512i low = _mm512_shuffle_i64x2(u[j], u[j + 4], 0x88), high = _mm512_shuffle_i64x2(u[j], u[j + 4], 0xdd);
    rows[j] = low;
    rows[j + 4] = high;
  }
}

LANES_INLINE lanes lanes_of_words(const __m512i *w) {
  const __m512i limb = ALL(LANES_LIMB);
  lanes r;
  r.l[0] = _mm512_and_si512(w[0], limb);
  r.l[1] = _mm512_and_si512(_mm512_or_si512(_mm512_srli_epi64(w[0], 52), _mm512_slli_epi64(w[1], 12)), limb);
  r.l[2] = _mm512_and_si512(_mm512_or_si512(_mm512_srli_epi64(w[1], 40), _mm512_slli_epi64(w[2], 24)), limb);
  r.l[3] = _mm512_and_si512(_mm512_or_si512(_mm512_srli_epi64(w[2], 28), _mm512_slli_epi64(w[3], 36)), limb);
  r.l[4] = _mm512_srli_epi64(w[3], 16);
  return r;
}

/* Four words of each number below p */
LANES_INLINE void lanes_to_words(__m512i *w, lanes a) {
  a = lanes_canonical(a);
  w[0] = _mm512_or_si512(a.l[0], _mm512_slli_epi64(a.l[1], 52));
  w[1] = _mm512_or_si512(_mm512_srli_epi64(a.l[1], 12), _mm512_slli_epi64(a.l[2], 40));
  w[2] = _mm512_or_si512(_mm512_srli_epi64(a.l[2], 24), _mm512_slli_epi64(a.l[3], 28));
  w[3] = _mm512_or_si512(_mm512_srli_epi64(a.l[3], 36), _mm512_slli_epi64(a.l[4], 16));
}

/* The same element in all lanes */
LANES_INLINE lanes lanes_of_all(const word *words) {
  __m512i w[4];
  UNROLLED for (int i = 0; i < 4; i++) w[i] = ALL(words[i]);
  return lanes_of_words(w);
}

/* Two elements a lane, one behind the other; lanes are `stride` bytes apart. */
LANES_INLINE void lanes_read_pairs(const uint8_t *from, size_t stride, lanes *a, lanes *b) {
  __m512i rows[8];
  UNROLLED for (int i = 0; i < 8; i++) rows[i] = _mm512_loadu_si512(from + stride * i);
  lanes_transpose(rows);
  *a = lanes_of_words(rows);
  *b = lanes_of_words(rows + 4);
}

LANES static void lanes_write_pairs(uint8_t *to, size_t stride, const lanes *a, const lanes *b) {
  __m512i rows[8];
  lanes_to_words(rows, *a);
  lanes_to_words(rows + 4, *b);
  lanes_transpose(rows);
  UNROLLED for (int i = 0; i < 8; i++) _mm512_storeu_si512(to + stride * i, rows[i]);
}

/* 3 multiplications, 4 squarings */
LANES static void lanes_double(lanes_point *out, const lanes_point *p) {
  const lanes b = lanes_square(p->y), a = lanes_square(p->x);
  const lanes d = lanes_shifted(lanes_product(p->x, b), 2); /* 4xy² */
  const lanes c = lanes_square(b);
  const lanes e = lanes_reduced(lanes_plus(lanes_plus(a, a), a));
  const lanes z = lanes_product(p->y, p->z);
  out->z = lanes_reduced(lanes_plus(z, z));
  const lanes x = lanes_reduced(lanes_minus(lanes_square(e), lanes_plus(d, d)));
  out->x = x;
  const lanes y = lanes_product(e, lanes_reduced(lanes_minus(d, x)));
  out->y = lanes_reduced(lanes_minus(y, lanes_shifted(c, 3)));
}

/* out ← p + (x, ±y); z becomes 0 and stays 0 if both points have the same x. 8 multiplications, 3 squarings */
LANES static void lanes_add(lanes_point *out, const lanes_point *p, const lanes *x, const lanes *y, __mmask8 negative) {
  const lanes zz = lanes_square(p->z);
  const lanes h = lanes_reduced(lanes_minus(lanes_product(*x, zz), p->x));
  lanes s = lanes_product(*y, lanes_product(zz, p->z));
  UNROLLED for (int i = 0; i < 5; i++) s.l[i] = _mm512_mask_sub_epi64(s.l[i], negative, _mm512_setzero_si512(), s.l[i]);
  const lanes r = lanes_reduced(lanes_minus(s, p->y));
  const lanes hh = lanes_square(h), hhh = lanes_product(hh, h), v = lanes_product(p->x, hh);
  out->z = lanes_product(p->z, h);
  out->x = lanes_reduced(lanes_minus(lanes_minus(lanes_square(r), hhh), lanes_plus(v, v)));
  const lanes y1 = lanes_product(p->y, hhh);
  out->y = lanes_reduced(lanes_minus(lanes_product(r, lanes_reduced(lanes_minus(v, out->x))), y1));
}

/* a^(2^n)·b */
LANES static lanes lanes_raised(lanes a, int n, lanes b) {
  for (int i = 0; i < n; i++) a = lanes_square(a);
  return lanes_product(a, b);
}

/* a^((p + 1)/4); see `root` in assembly/secp256k1.ts */
LANES static lanes lanes_root(lanes a) {
  const lanes x2 = lanes_raised(a, 1, a), x3 = lanes_raised(x2, 1, a), x6 = lanes_raised(x3, 3, x3);
  const lanes x11 = lanes_raised(lanes_raised(x6, 3, x3), 2, x2), x22 = lanes_raised(x11, 11, x11), x44 = lanes_raised(x22, 22, x22);
  const lanes x88 = lanes_raised(x44, 44, x44), x220 = lanes_raised(lanes_raised(x88, 88, x88), 44, x44);
  const lanes high = lanes_raised(lanes_raised(x220, 3, x3), 23, x22);
  return lanes_square(lanes_square(lanes_raised(high, 6, x2)));
}

/* 1/a of eight elements, none of them 0, by one inversion. @param scratch 32 bytes of M */
LANES static lanes lanes_inverse(uint8_t *M, uint32_t scratch, lanes a) {
  __m512i rows[8];
  uint64_t elements[8][8], products[8][4], inverse[4], t[4];
  lanes_to_words(rows, a);
  UNROLLED for (int i = 4; i < 8; i++) rows[i] = _mm512_setzero_si512();
  lanes_transpose(rows);
  UNROLLED for (int i = 0; i < 8; i++) _mm512_storeu_si512(elements[i], rows[i]);
  memcpy(products[0], elements[0], 32);
  UNROLLED for (int i = 1; i < 8; i++) secp256k1_multiply_words((word *)products[i], (word *)products[i - 1], (word *)elements[i]);
  memcpy(AT(M, scratch), products[7], 32);
  secp256k1_invert(M, scratch, scratch);
  memcpy(inverse, AT(M, scratch), 32);
  for (int i = 7; i > 0; i--) {
    secp256k1_multiply_words((word *)t, (word *)inverse, (word *)products[i - 1]);
    secp256k1_multiply_words((word *)inverse, (word *)inverse, (word *)elements[i]);
    memcpy(elements[i], t, 32);
  }
  memcpy(elements[0], inverse, 32);
  UNROLLED for (int i = 0; i < 8; i++) rows[i] = _mm512_loadu_si512(elements[i]);
  lanes_transpose(rows);
  return lanes_of_words(rows);
}

/* The widths of digits are those of assembly/secp256k1.ts. */
#define LANES_ENTRIES 16
#define LANES_POINT_WIDTH 5
#define LANES_POINT_DIGITS 26
#define LANES_GENERATOR_WIDTH 11
#define LANES_GENERATOR_DIGITS 12
#define LANES_GENERATOR_ENTRIES 1024
#define LANES_DIGITS (2 * LANES_GENERATOR_DIGITS + 2 * LANES_POINT_DIGITS)
#define PAIR 64

/* The multiples of the points, from 1 to 16, as pairs of words; and those multiplied by λ. */
typedef struct {
  uint8_t plain[8][LANES_ENTRIES][PAIR], mapped[8][LANES_ENTRIES][PAIR];
} lanes_tables;

LANES static void lanes_fill_tables(lanes_tables *tables, uint8_t *M, uint32_t scratch, const lanes *x, const lanes *y, const lanes *one, const lanes *beta) {
  lanes_point multiples[LANES_ENTRIES];
  lanes products[LANES_ENTRIES];
  multiples[0] = (lanes_point){*x, *y, *one};
  for (int i = 1; i < LANES_ENTRIES; i++) {
    if (i & 1) lanes_double(&multiples[i], &multiples[i >> 1]);
    else lanes_add(&multiples[i], &multiples[i - 1], x, y, 0);
    products[i] = i == 1 ? multiples[1].z : lanes_product(products[i - 1], multiples[i].z);
  }
  lanes inverse = lanes_inverse(M, scratch, products[LANES_ENTRIES - 1]);
  for (int i = LANES_ENTRIES - 1; i >= 0; i--) {
    lanes ax = *x, ay = *y;
    if (i > 0) {
      const lanes z = i > 1 ? lanes_product(inverse, products[i - 1]) : inverse;
      inverse = lanes_product(inverse, multiples[i].z);
      const lanes zz = lanes_square(z);
      ax = lanes_product(multiples[i].x, zz);
      ay = lanes_product(multiples[i].y, lanes_product(zz, z));
    }
    const lanes mapped = lanes_product(ax, *beta);
    lanes_write_pairs(tables->plain[0][i], sizeof tables->plain[0], &ax, &ay);
    lanes_write_pairs(tables->mapped[0][i], sizeof tables->mapped[0], &mapped, &ay);
  }
}

/*
 * sum ← sum + digit · point in each lane.
 *
 * @param table that of the first lane; each has `entries` pairs, those of the next lane begin `stride` bytes behind
 * @param digits that of the first lane; the next lane's is LANES_DIGITS behind
 * @param empty lanes whose sum is still infinity
 */
LANES_INLINE void lanes_add_digits(lanes_point *sum, const uint8_t *table, size_t stride, uint32_t entries, const uint8_t *digits, __mmask8 *empty, const lanes *one) {
  __m512i rows[8];
  unsigned negative = 0, some = 0;
  UNROLLED for (int i = 0; i < 8; i++) {
    int16_t digit;
    memcpy(&digit, digits + 2 * LANES_DIGITS * i, 2);
    const uint32_t size = (uint32_t)(digit < 0 ? -digit : digit);
    negative |= (unsigned)(digit < 0) << i;
    some |= (unsigned)(digit != 0) << i;
    rows[i] = _mm512_loadu_si512(table + stride * i + PAIR * (size_t)((size - 1) & (entries - 1)));
  }
  lanes_transpose(rows);
  const lanes x = lanes_of_words(rows), y = lanes_of_words(rows + 4);
  lanes_point added;
  lanes_add(&added, sum, &x, &y, (__mmask8)negative);
  const __mmask8 first = (__mmask8)(some & *empty), other = (__mmask8)(some & ~*empty);
  sum->x = lanes_chosen(other, sum->x, added.x);
  sum->y = lanes_chosen(other, sum->y, added.y);
  sum->z = lanes_chosen(other, sum->z, added.z);
  if (first == 0) return;
  lanes minus;
  UNROLLED for (int i = 0; i < 5; i++) minus.l[i] = _mm512_sub_epi64(_mm512_setzero_si512(), y.l[i]);
  sum->x = lanes_chosen(first, sum->x, x);
  sum->y = lanes_chosen(first, sum->y, lanes_chosen((__mmask8)negative, y, lanes_reduced(minus)));
  sum->z = lanes_chosen(first, sum->z, *one);
  *empty &= (__mmask8)~first;
}

#define ELEMENT(address) ((const word *)AT(M, address))

/*
 * Eight sums u1·G + u2·(x, y), y the root of x³ + 7 that is odd or even as the bit of `odd` says.
 *
 * @param points x of each point, 64 bytes apart
 * @param digits LANES_DIGITS numbers of 16 bits for each: u1 modulo 2^128, u1 / 2^128, and the halves of u2
 * @param constants x ‖ y of G, β
 * @param generator the multiples of G, then those of 2^128·G
 * @param sums Jacobian points; Z is 0 where these formulas have no answer (infinity on the way)
 * @returns the lanes in which x is that of a point
 */
LANES static uint32_t lanes_multiply(uint8_t *M, uint32_t points, uint32_t odd, uint32_t digits, uint32_t constants, uint32_t generator, uint32_t sums) {
  check_range(points, 8 * PAIR);
  check_range(digits, 8 * 2 * LANES_DIGITS);
  check_range(constants, PAIR + 32);
  check_range(generator, 2 * LANES_GENERATOR_ENTRIES * PAIR);
  check_range(sums, 8 * 96);
  const lanes generator_x = lanes_of_all(ELEMENT(constants)), generator_y = lanes_of_all(ELEMENT(constants + 32));
  const lanes beta = lanes_of_all(ELEMENT(constants + PAIR));
  lanes one, seven, x, y;
  UNROLLED for (int i = 0; i < 5; i++) one.l[i] = seven.l[i] = _mm512_setzero_si512();
  one.l[0] = ALL(1);
  seven.l[0] = ALL(7);
  lanes_read_pairs(M + points, PAIR, &x, &y);
  const lanes square = lanes_reduced(lanes_plus(lanes_product(lanes_square(x), x), seven));
  const lanes root = lanes_canonical(lanes_root(square));
  const __mmask8 is_point = lanes_is_zero(lanes_minus(lanes_square(root), square));
  lanes minus;
  UNROLLED for (int i = 0; i < 5; i++) minus.l[i] = _mm512_sub_epi64(_mm512_setzero_si512(), root.l[i]);
  const __mmask8 other = (__mmask8)(_mm512_test_epi64_mask(root.l[0], ALL(1)) ^ odd);
  y = lanes_chosen(other, root, lanes_reduced(minus));
  /* any point will do elsewhere */
  x = lanes_chosen(is_point, generator_x, x);
  y = lanes_chosen(is_point, generator_y, y);

  lanes_tables tables;
  lanes_fill_tables(&tables, M, sums, &x, &y, &one, &beta);
  lanes_point sum = {one, one, one};
  __mmask8 empty = 0xff;
  const uint8_t *low = M + digits, *high = low + 2 * LANES_GENERATOR_DIGITS, *first = high + 2 * LANES_GENERATOR_DIGITS;
  const uint8_t *second = first + 2 * LANES_POINT_DIGITS, *generators = M + generator;
  const size_t stride = sizeof tables.plain[0];
  for (int bit = LANES_POINT_WIDTH * (LANES_POINT_DIGITS - 1); bit >= 0; bit--) {
    if (empty != 0xff) lanes_double(&sum, &sum);
    if (bit % LANES_GENERATOR_WIDTH == 0) {
      const size_t at = 2 * (bit / LANES_GENERATOR_WIDTH);
      lanes_add_digits(&sum, generators, 0, LANES_GENERATOR_ENTRIES, low + at, &empty, &one);
      lanes_add_digits(&sum, generators + LANES_GENERATOR_ENTRIES * PAIR, 0, LANES_GENERATOR_ENTRIES, high + at, &empty, &one);
    }
    if (bit % LANES_POINT_WIDTH == 0) {
      const size_t at = 2 * (bit / LANES_POINT_WIDTH);
      lanes_add_digits(&sum, tables.plain[0][0], stride, LANES_ENTRIES, first + at, &empty, &one);
      lanes_add_digits(&sum, tables.mapped[0][0], stride, LANES_ENTRIES, second + at, &empty, &one);
    }
  }
  UNROLLED for (int i = 0; i < 5; i++) sum.z.l[i] = _mm512_mask_mov_epi64(sum.z.l[i], empty, _mm512_setzero_si512());
  lanes_write_pairs(M + sums, 96, &sum.x, &sum.y);
  __m512i rows[8];
  lanes_to_words(rows, sum.z);
  UNROLLED for (int i = 4; i < 8; i++) rows[i] = _mm512_setzero_si512();
  lanes_transpose(rows);
  UNROLLED for (int i = 0; i < 8; i++) _mm256_storeu_si256((__m256i *)(M + sums + 96 * i + PAIR), _mm512_castsi512_si256(rows[i]));
  return is_point;
}

static uint32_t secp256k1_has_lanes(uint8_t *M) { return (uint32_t)x86_has_ifma; }

static uint32_t secp256k1_multiply_lanes(uint8_t *M, uint32_t points, uint32_t odd, uint32_t digits, uint32_t constants, uint32_t generator, uint32_t sums) {
  return lanes_multiply(M, points, odd, digits, constants, generator, sums);
}
#else
static uint32_t secp256k1_has_lanes(uint8_t *M) { return 0; }

static uint32_t secp256k1_multiply_lanes(uint8_t *M, uint32_t points, uint32_t odd, uint32_t digits, uint32_t constants, uint32_t generator, uint32_t sums) {
  return 0;
}
#endif
