/* What all fields share: elements of memory are words that need no alignment, and may be anything else at the same time. */
#ifndef RNODE_WORDS_H
#define RNODE_WORDS_H
#include "memory.h"

typedef uint64_t word __attribute__((aligned(1), may_alias));
typedef unsigned __int128 wide;

#define CONCAT2(a, b) a##_##b
#define CONCAT(a, b) CONCAT2(a, b)
#define X86_2(operation, words) x86_##operation##words
#define X86(operation, words) X86_2(operation, words)

#if defined(__x86_64__)
#include <cpuid.h>
#include "x86-field.h"
static int x86_has_adx, x86_has_avx2, x86_has_avx512;
/* BMI2 is bit 8, ADX bit 19 of EBX of leaf 7. The compiler's functions ask the system, too, whether it keeps the vectors. */
static void detect_processor(void) {
  unsigned a, b = 0, c, d;
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d)) x86_has_adx = (b >> 8 & 1) && (b >> 19 & 1);
  __builtin_cpu_init();
  x86_has_avx2 = __builtin_cpu_supports("avx2");
  x86_has_avx512 = x86_has_avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512ifma");
}

/* The most lanes that there are: 8 (AVX-512), 4 (AVX2), 0; see vectors.h. */
static uint32_t x86_lanes(void) { return x86_has_avx512 ? 8 : x86_has_avx2 ? 4 : 0; }
#else
static void detect_processor(void) {}
#endif

static inline uint64_t read_big_endian(const uint8_t *bytes) {
  uint64_t x;
  memcpy(&x, bytes, 8);
  return __builtin_bswap64(x);
}

static inline void write_big_endian(uint8_t *bytes, uint64_t x) {
  x = __builtin_bswap64(x);
  memcpy(bytes, &x, 8);
}
#endif
