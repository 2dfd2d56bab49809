/* Multiplication modulo p = 2^256 − 0x1000003d1, of elements that are the numbers themselves: 2^256 is a small number modulo p. Included by field.h. */
#ifdef __x86_64__
#include "x86-secp256k1.h"
#endif

static void secp256k1_portable_multiply(word *out, const word *a, const word *b) {
  static const uint64_t c = 0x1000003d1ull;
  uint64_t t[8] = {0};
#pragma GCC unroll 4
  for (int i = 0; i < 4; i++) {
    uint64_t carry = 0;
#pragma GCC unroll 4
    for (int j = 0; j < 4; j++) {
      wide sum = (wide)a[j] * b[i] + t[i + j] + carry;
      t[i + j] = (uint64_t)sum;
      carry = (uint64_t)(sum >> 64);
    }
    t[i + 4] = carry;
  }
  uint64_t carry = 0;
#pragma GCC unroll 4
  for (int i = 0; i < 4; i++) {
    wide sum = (wide)t[i + 4] * c + t[i] + carry;
    t[i] = (uint64_t)sum;
    carry = (uint64_t)(sum >> 64);
  }
  /* the carry is below 2^34, and what it adds carries once more at most */
  wide sum = (wide)carry * c + t[0];
  t[0] = (uint64_t)sum;
  for (int i = 1; i < 4; i++) {
    sum = (wide)t[i] + (uint64_t)(sum >> 64);
    t[i] = (uint64_t)sum;
  }
  secp256k1_reduce_once(out, t, (uint64_t)(sum >> 64));
}

static __attribute__((noinline)) void secp256k1_multiply_words(word *out, const word *a, const word *b) {
#ifdef __x86_64__
  if (x86_has_adx) {
    x86_secp256k1_multiply(out, a, b);
    return;
  }
#endif
  secp256k1_portable_multiply(out, a, b);
}

static __attribute__((noinline)) void secp256k1_square_words(word *out, const word *a) {
#ifdef __x86_64__
  if (x86_has_adx) {
    x86_secp256k1_square(out, a);
    return;
  }
#endif
  secp256k1_portable_multiply(out, a, a);
}
