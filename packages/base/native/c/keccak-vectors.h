/* Keccak-256 in lanes. Included by keccak-lanes.h for each kind of vectors. */
#undef RHO_PI
/* Word x + 5y of the state after θ, rotated, is word y + 5((2x + 3y) mod 5) before χ. */
#define RHO_PI(x, y, bits) b[(y) + 5 * ((2 * (x) + 3 * (y)) % 5)] = V_ROTATE(V_XOR(a[(x) + 5 * (y)], d[x]), bits)

LANES static void keccak_permute(V *state) {
  V a[25], b[25], c[5], d[5];
  UNROLLED for (int i = 0; i < 25; i++) a[i] = state[i];
  for (int round = 0; round < 24; round++) {
    UNROLLED for (int x = 0; x < 5; x++) c[x] = V_XOR3(V_XOR3(a[x], a[x + 5], a[x + 10]), a[x + 15], a[x + 20]);
    UNROLLED for (int x = 0; x < 5; x++) d[x] = V_XOR(c[(x + 4) % 5], V_ROTATE(c[(x + 1) % 5], 1));
    RHO_PI(0, 0, 0), RHO_PI(1, 0, 1), RHO_PI(2, 0, 62), RHO_PI(3, 0, 28), RHO_PI(4, 0, 27);
    RHO_PI(0, 1, 36), RHO_PI(1, 1, 44), RHO_PI(2, 1, 6), RHO_PI(3, 1, 55), RHO_PI(4, 1, 20);
    RHO_PI(0, 2, 3), RHO_PI(1, 2, 10), RHO_PI(2, 2, 43), RHO_PI(3, 2, 25), RHO_PI(4, 2, 39);
    RHO_PI(0, 3, 41), RHO_PI(1, 3, 45), RHO_PI(2, 3, 15), RHO_PI(3, 3, 21), RHO_PI(4, 3, 8);
    RHO_PI(0, 4, 18), RHO_PI(1, 4, 2), RHO_PI(2, 4, 61), RHO_PI(3, 4, 56), RHO_PI(4, 4, 14);
    UNROLLED for (int i = 0; i < 25; i++) a[i] = V_CHI(b[i], b[i - i % 5 + (i + 1) % 5], b[i - i % 5 + (i + 2) % 5]);
    a[0] = V_XOR(a[0], V_ALL(keccak_constants[round]));
  }
  UNROLLED for (int i = 0; i < 25; i++) state[i] = a[i];
}

/* Adds a block of each lane to the state. */
LANES static void keccak_absorb(V *state, const uint8_t *const *blocks) {
  for (int part = 0; part < 2; part++) {
    const uint8_t *from[V_LANES];
    UNROLLED for (int i = 0; i < V_LANES; i++) from[i] = blocks[i] + 64 * part;
    V words[8];
    vectors_read(words, from);
    UNROLLED for (int i = 0; i < 8; i++) state[8 * part + i] = V_XOR(state[8 * part + i], words[i]);
  }
  uint64_t last[V_LANES];
  for (int i = 0; i < V_LANES; i++) memcpy(&last[i], blocks[i] + 128, 8);
  state[16] = V_XOR(state[16], V_LOAD(last));
}

/* What `keccak_hash_all` does, for messages at `from` whose ends are known to be in order. */
LANES static void keccak_hash(const uint8_t *from, const uint32_t *ends, uint32_t count, uint8_t *digests) {
  static const uint8_t nothing[KECCAK_RATE];
  V state[25];
  uint8_t padded[V_LANES][KECCAK_RATE];
  const uint8_t *at[V_LANES], *blocks[V_LANES];
  uint32_t left[V_LANES], message[V_LANES], next = 0, busy = 0;
  lanes_mask fresh = LANES_ALL;
  for (int i = 0; i < 25; i++) state[i] = V_ZERO;
  for (int i = 0; i < V_LANES; i++) message[i] = UINT32_MAX;
  for (;;) {
    unsigned ending = 0;
    for (int i = 0; i < V_LANES; i++) {
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
    if (fresh != 0) UNROLLED for (int i = 0; i < 25; i++) state[i] = V_CHOSEN(fresh, state[i], V_ZERO);
    keccak_absorb(state, blocks);
    keccak_permute(state);
    fresh = (lanes_mask)ending;
    if (ending == 0) continue;
    uint64_t words[4][V_LANES];
    for (int i = 0; i < 4; i++) V_STORE(words[i], state[i]);
    for (int i = 0; i < V_LANES; i++) {
      if ((ending >> i & 1) == 0) continue;
      for (int j = 0; j < 4; j++) memcpy(digests + 32 * message[i] + 8 * j, &words[j][i], 8);
      message[i] = UINT32_MAX;
      busy--;
    }
  }
}
