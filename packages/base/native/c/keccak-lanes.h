/*
 * Keccak-256 of several messages at once, one in each lane of the vectors that the processor has. A lane whose message ends takes the next one, so that
 * messages of different lengths keep all lanes busy. Imported by assembly/keccak.ts.
 */
#define KECCAK_RATE 136
#define KECCAK_WORDS 17

#ifdef __x86_64__
#include "vectors.h"

static const uint64_t keccak_constants[24] = {
  0x0000000000000001, 0x0000000000008082, 0x800000000000808a, 0x8000000080008000, 0x000000000000808b, 0x0000000080000001, 0x8000000080008081, 0x8000000000008009,
  0x000000000000008a, 0x0000000000000088, 0x0000000080008009, 0x000000008000000a, 0x000000008000808b, 0x800000000000008b, 0x8000000000008089, 0x8000000000008003,
  0x8000000000008002, 0x8000000000000080, 0x000000000000800a, 0x800000008000000a, 0x8000000080008081, 0x8000000000008080, 0x0000000080000001, 0x8000000080008008,
};

#define keccak_permute OF_VECTORS(keccak_permute)
#define keccak_absorb OF_VECTORS(keccak_absorb)
#define keccak_hash OF_VECTORS(keccak_hash)

#include "vectors-avx512.h"
#include "keccak-vectors.h"
#include "vectors-avx2.h"
#include "keccak-vectors.h"

static uint32_t keccak_lanes(uint8_t *M) { return x86_lanes(); }

/* @returns 0: the processor does not have so many lanes */
static uint32_t keccak_hash_lanes(const uint8_t *from, const uint32_t *ends, uint32_t count, uint8_t *digests, uint32_t lane_count) {
  if (lane_count > x86_lanes()) return 0;
  if (lane_count == 8) keccak_hash_avx512(from, ends, count, digests);
  else if (lane_count == 4) keccak_hash_avx2(from, ends, count, digests);
  else return 0;
  return 1;
}
#else
static uint32_t keccak_lanes(uint8_t *M) { return 0; }

static uint32_t keccak_hash_lanes(const uint8_t *from, const uint32_t *ends, uint32_t count, uint8_t *digests, uint32_t lane_count) { return 0; }
#endif

/*
 * digests ← Keccak-256 of `count` messages, one behind the other from `messages` on, whose ends, counted from there, are at `ends`.
 *
 * @returns 0: they do not fit the memory, or the processor does not have so many lanes
 */
static uint32_t keccak_hash_all(uint8_t *M, uint32_t messages, uint32_t ends, uint32_t count, uint32_t digests, uint32_t lane_count) {
  if (count == 0) return 1;
  if (count > SIZE / 32 || (ends & 3) != 0) return 0;
  check_range(ends, 4 * count);
  check_range(digests, 32 * count);
  const uint32_t *all = (const uint32_t *)(M + ends);
  uint32_t last = 0;
  for (uint32_t i = 0; i < count; i++) {
    if (all[i] < last) return 0;
    last = all[i];
  }
  check_range(messages, last);
  return keccak_hash_lanes(M + messages, all, count, M + digests, lane_count);
}
