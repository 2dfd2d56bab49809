/*
 * Keccak-256 of up to eight messages at once, one in each lane of the vectors of AVX-512. A lane whose message ends takes the next one, so that messages of
 * different lengths keep all lanes busy. Included behind secp256k1-lanes.h; imported by assembly/keccak.ts.
 */
#define KECCAK_RATE 136
#define KECCAK_WORDS 17

#ifdef __x86_64__
static const uint64_t keccak_constants[24] = {
  0x0000000000000001, 0x0000000000008082, 0x800000000000808a, 0x8000000080008000, 0x000000000000808b, 0x0000000080000001, 0x8000000080008081, 0x8000000000008009,
  0x000000000000008a, 0x0000000000000088, 0x0000000080008009, 0x000000008000000a, 0x000000008000808b, 0x800000000000008b, 0x8000000000008089, 0x8000000000008003,
  0x8000000000008002, 0x8000000000000080, 0x000000000000800a, 0x800000008000000a, 0x8000000080008081, 0x8000000000008080, 0x0000000080000001, 0x8000000080008008,
};

/* a ^ b ^ c; a ^ (~b & c) */
#define XOR3(a, b, c) _mm512_ternarylogic_epi64(a, b, c, 0x96)
#define CHI(a, b, c) _mm512_ternarylogic_epi64(a, b, c, 0xd2)

/* Word x + 5y of the state after θ, rotated, is word y + 5((2x + 3y) mod 5) before χ. */
#define RHO_PI(x, y, bits) b[(y) + 5 * ((2 * (x) + 3 * (y)) % 5)] = _mm512_rol_epi64(_mm512_xor_si512(a[(x) + 5 * (y)], d[x]), bits)

LANES static void keccak_permute_lanes(__m512i *state) {
  __m512i a[25], b[25], c[5], d[5];
  UNROLLED for (int i = 0; i < 25; i++) a[i] = state[i];
  for (int round = 0; round < 24; round++) {
    UNROLLED for (int x = 0; x < 5; x++) c[x] = XOR3(XOR3(a[x], a[x + 5], a[x + 10]), a[x + 15], a[x + 20]);
    UNROLLED for (int x = 0; x < 5; x++) d[x] = _mm512_xor_si512(c[(x + 4) % 5], _mm512_rol_epi64(c[(x + 1) % 5], 1));
    RHO_PI(0, 0, 0), RHO_PI(1, 0, 1), RHO_PI(2, 0, 62), RHO_PI(3, 0, 28), RHO_PI(4, 0, 27);
    RHO_PI(0, 1, 36), RHO_PI(1, 1, 44), RHO_PI(2, 1, 6), RHO_PI(3, 1, 55), RHO_PI(4, 1, 20);
    RHO_PI(0, 2, 3), RHO_PI(1, 2, 10), RHO_PI(2, 2, 43), RHO_PI(3, 2, 25), RHO_PI(4, 2, 39);
    RHO_PI(0, 3, 41), RHO_PI(1, 3, 45), RHO_PI(2, 3, 15), RHO_PI(3, 3, 21), RHO_PI(4, 3, 8);
    RHO_PI(0, 4, 18), RHO_PI(1, 4, 2), RHO_PI(2, 4, 61), RHO_PI(3, 4, 56), RHO_PI(4, 4, 14);
    UNROLLED for (int i = 0; i < 25; i++) a[i] = CHI(b[i], b[i - i % 5 + (i + 1) % 5], b[i - i % 5 + (i + 2) % 5]);
    a[0] = _mm512_xor_si512(a[0], _mm512_set1_epi64((long long)keccak_constants[round]));
  }
  UNROLLED for (int i = 0; i < 25; i++) state[i] = a[i];
}

/* Adds a block of each lane to the state. */
LANES static void keccak_absorb_lanes(__m512i *state, const uint8_t *const *blocks) {
  for (int part = 0; part < 2; part++) {
    __m512i rows[8];
    UNROLLED for (int i = 0; i < 8; i++) rows[i] = _mm512_loadu_si512(blocks[i] + 64 * part);
    lanes_transpose(rows);
    UNROLLED for (int i = 0; i < 8; i++) state[8 * part + i] = _mm512_xor_si512(state[8 * part + i], rows[i]);
  }
  uint64_t last[8];
  for (int i = 0; i < 8; i++) memcpy(&last[i], blocks[i] + 128, 8);
  state[16] = _mm512_xor_si512(state[16], _mm512_loadu_si512(last));
}

/* What `keccak_hash_all` does, for messages at `from` whose ends are known to be in order. */
LANES static void keccak_hash_lanes(const uint8_t *from, const uint32_t *ends, uint32_t count, uint8_t *digests) {
  static const uint8_t nothing[KECCAK_RATE];
  __m512i state[25];
  uint8_t padded[8][KECCAK_RATE];
  const uint8_t *at[8], *blocks[8];
  uint32_t left[8], message[8], next = 0, busy = 0;
  __mmask8 fresh = 0xff;
  for (int i = 0; i < 25; i++) state[i] = _mm512_setzero_si512();
  for (int i = 0; i < 8; i++) message[i] = UINT32_MAX;
  for (;;) {
    unsigned ending = 0;
    for (int i = 0; i < 8; i++) {
      if (message[i] == UINT32_MAX && next < count) {
        const uint32_t start = next == 0 ? 0 : ends[next - 1];
        message[i] = next;
        at[i] = from + start;
        left[i] = ends[next++] - start;
        busy++;
      }
      if (message[i] == UINT32_MAX) {
        blocks[i] = nothing;
      } else if (left[i] >= KECCAK_RATE) {
        blocks[i] = at[i];
        at[i] += KECCAK_RATE;
        left[i] -= KECCAK_RATE;
      } else {
        memset(padded[i], 0, KECCAK_RATE);
        memcpy(padded[i], at[i], left[i]);
        padded[i][left[i]] = 0x01;
        padded[i][KECCAK_RATE - 1] |= 0x80;
        blocks[i] = padded[i];
        ending |= 1u << i;
      }
    }
    if (busy == 0) return;
    /* lanes that begin: all zeros */
    if (fresh != 0) UNROLLED for (int i = 0; i < 25; i++) state[i] = _mm512_mask_mov_epi64(state[i], fresh, _mm512_setzero_si512());
    keccak_absorb_lanes(state, blocks);
    keccak_permute_lanes(state);
    fresh = (__mmask8)ending;
    if (ending == 0) continue;
    uint64_t words[4][8];
    for (int i = 0; i < 4; i++) _mm512_storeu_si512(words[i], state[i]);
    for (int i = 0; i < 8; i++) {
      if ((ending >> i & 1) == 0) continue;
      for (int j = 0; j < 4; j++) memcpy(digests + 32 * message[i] + 8 * j, &words[j][i], 8);
      message[i] = UINT32_MAX;
      busy--;
    }
  }
}

static uint32_t keccak_has_lanes(uint8_t *M) { return (uint32_t)x86_has_ifma; }
#else
static void keccak_hash_lanes(const uint8_t *from, const uint32_t *ends, uint32_t count, uint8_t *digests) {}

static uint32_t keccak_has_lanes(uint8_t *M) { return 0; }
#endif

/*
 * digests ← Keccak-256 of `count` messages, one behind the other from `messages` on, whose ends, counted from there, are at `ends`.
 *
 * @returns 0: they do not fit the memory
 */
static uint32_t keccak_hash_all(uint8_t *M, uint32_t messages, uint32_t ends, uint32_t count, uint32_t digests) {
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
  keccak_hash_lanes(M + messages, all, count, M + digests);
  return 1;
}
