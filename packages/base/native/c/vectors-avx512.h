/* Eight lanes, in vectors of AVX-512; see vectors.h. */
#include "vectors-none.h"
#define VECTORS avx512
#define VECTORS_TARGET "avx512f,avx512ifma"
#define V __m512i
#define V_LANES 8
#define V_ALL(value) _mm512_set1_epi64((long long)(value))
#define V_ZERO _mm512_setzero_si512()
#define V_LOAD(from) _mm512_loadu_si512(from)
#define V_STORE(to, a) _mm512_storeu_si512(to, a)
#define V_ADD(a, b) _mm512_add_epi64(a, b)
#define V_SUB(a, b) _mm512_sub_epi64(a, b)
#define V_AND(a, b) _mm512_and_si512(a, b)
#define V_OR(a, b) _mm512_or_si512(a, b)
#define V_XOR(a, b) _mm512_xor_si512(a, b)
#define V_XOR3(a, b, c) _mm512_ternarylogic_epi64(a, b, c, 0x96)
#define V_CHI(a, b, c) _mm512_ternarylogic_epi64(a, b, c, 0xd2)
#define V_SHL(a, bits) _mm512_slli_epi64(a, bits)
#define V_SHR(a, bits) _mm512_srli_epi64(a, bits)
#define V_ROTATE(a, bits) _mm512_rol_epi64(a, bits)
#define V_CHOSEN(second, a, b) _mm512_mask_blend_epi64(second, a, b)
#define V_ANY_BIT(a, bits) _mm512_test_epi64_mask(a, bits)

#ifndef VECTORS_AVX512_H
#define VECTORS_AVX512_H
/* Rows of eight words ↔ columns */
LANES_INLINE void vectors_transpose(V *rows) {
  V t[8], u[8];
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
    const V low = _mm512_shuffle_i64x2(u[j], u[j + 4], 0x88), high = _mm512_shuffle_i64x2(u[j], u[j + 4], 0xdd);
    rows[j] = low;
    rows[j + 4] = high;
  }
}

LANES_INLINE void vectors_read(V *words, const uint8_t *const *from) {
  UNROLLED for (int i = 0; i < 8; i++) words[i] = V_LOAD(from[i]);
  vectors_transpose(words);
}

LANES_INLINE void vectors_write(uint8_t *to, size_t stride, V *words) {
  vectors_transpose(words);
  UNROLLED for (int i = 0; i < 8; i++) V_STORE(to + stride * i, words[i]);
}
#endif
