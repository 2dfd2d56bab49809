/* Four lanes, in vectors of AVX2; see vectors.h. */
#include "vectors-none.h"
#define VECTORS avx2
#define VECTORS_TARGET "avx2"
#define V __m256i
#define V_LANES 4
#define V_ALL(value) _mm256_set1_epi64x((long long)(value))
#define V_ZERO _mm256_setzero_si256()
#define V_LOAD(from) _mm256_loadu_si256((const __m256i *)(from))
#define V_STORE(to, a) _mm256_storeu_si256((__m256i *)(to), a)
#define V_ADD(a, b) _mm256_add_epi64(a, b)
#define V_SUB(a, b) _mm256_sub_epi64(a, b)
#define V_AND(a, b) _mm256_and_si256(a, b)
#define V_OR(a, b) _mm256_or_si256(a, b)
#define V_XOR(a, b) _mm256_xor_si256(a, b)
#define V_XOR3(a, b, c) V_XOR(V_XOR(a, b), c)
#define V_CHI(a, b, c) V_XOR(a, _mm256_andnot_si256(b, c))
#define V_SHL(a, bits) _mm256_slli_epi64(a, bits)
#define V_SHR(a, bits) _mm256_srli_epi64(a, bits)
#define V_ROTATE(a, bits) vectors_rotated_avx2(a, bits)
#define V_CHOSEN(second, a, b) _mm256_blendv_epi8(a, b, vectors_mask_avx2(second))
#define V_ANY_BIT(a, bits) (~_mm256_movemask_pd(_mm256_castsi256_pd(_mm256_cmpeq_epi64(V_AND(a, bits), V_ZERO))) & 15)

#ifndef VECTORS_AVX2_H
#define VECTORS_AVX2_H
/* All bits of the lanes whose bit is set */
LANES_INLINE V vectors_mask_avx2(lanes_mask mask) {
  const V bits = _mm256_set_epi64x(8, 4, 2, 1);
  return _mm256_cmpeq_epi64(V_AND(V_ALL(mask), bits), bits);
}

LANES_INLINE V vectors_rotated_avx2(V a, int bits) {
  if (bits == 0) return a;
  if (bits == 8) return _mm256_shuffle_epi8(a, _mm256_set_epi64x(0x0e0d0c0b0a09080f, 0x0605040302010007, 0x0e0d0c0b0a09080f, 0x0605040302010007));
  if (bits == 56) return _mm256_shuffle_epi8(a, _mm256_set_epi64x(0x080f0e0d0c0b0a09, 0x0007060504030201, 0x080f0e0d0c0b0a09, 0x0007060504030201));
  return V_OR(V_SHL(a, bits), V_SHR(a, 64 - bits));
}

/* Rows of four words ↔ columns */
LANES_INLINE void vectors_transpose(V *rows) {
  const V a = _mm256_unpacklo_epi64(rows[0], rows[1]), b = _mm256_unpackhi_epi64(rows[0], rows[1]);
  const V c = _mm256_unpacklo_epi64(rows[2], rows[3]), d = _mm256_unpackhi_epi64(rows[2], rows[3]);
  rows[0] = _mm256_permute2x128_si256(a, c, 0x20);
  rows[1] = _mm256_permute2x128_si256(b, d, 0x20);
  rows[2] = _mm256_permute2x128_si256(a, c, 0x31);
  rows[3] = _mm256_permute2x128_si256(b, d, 0x31);
}

LANES_INLINE void vectors_read(V *words, const uint8_t *const *from) {
  UNROLLED for (int half = 0; half < 8; half += 4) {
    UNROLLED for (int i = 0; i < 4; i++) words[half + i] = V_LOAD(from[i] + 8 * half);
    vectors_transpose(words + half);
  }
}

LANES_INLINE void vectors_write(uint8_t *to, size_t stride, V *words) {
  UNROLLED for (int half = 0; half < 8; half += 4) {
    vectors_transpose(words + half);
    UNROLLED for (int i = 0; i < 4; i++) V_STORE(to + stride * i + 8 * half, words[half + i]);
  }
}
#endif
