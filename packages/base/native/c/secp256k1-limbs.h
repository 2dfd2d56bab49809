/* Elements as limbs, whatever their number, in lanes; included by secp256k1-field-….h. */
typedef struct {
  V l[LANES_LIMBS];
} lanes;

/* Limbs of the result are not reduced; see `lanes_reduced`. */
LANES_INLINE lanes lanes_plus(lanes a, lanes b) {
  UNROLLED for (int i = 0; i < LANES_LIMBS; i++) a.l[i] = V_ADD(a.l[i], b.l[i]);
  return a;
}

LANES_INLINE lanes lanes_minus(lanes a, lanes b) {
  UNROLLED for (int i = 0; i < LANES_LIMBS; i++) a.l[i] = V_SUB(a.l[i], b.l[i]);
  return a;
}

LANES_INLINE lanes lanes_shifted(lanes a, int bits) {
  UNROLLED for (int i = 0; i < LANES_LIMBS; i++) a.l[i] = V_SHL(a.l[i], bits);
  return a;
}

LANES_INLINE lanes lanes_chosen(lanes_mask second, lanes a, lanes b) {
  UNROLLED for (int i = 0; i < LANES_LIMBS; i++) a.l[i] = V_CHOSEN(second, a.l[i], b.l[i]);
  return a;
}

/* A number that fits the lowest limb */
LANES_INLINE lanes lanes_small(uint32_t number) {
  lanes r;
  r.l[0] = V_ALL(number);
  UNROLLED for (int i = 1; i < LANES_LIMBS; i++) r.l[i] = V_ZERO;
  return r;
}

LANES_INLINE lanes lanes_of_words(const V *words) {
  lanes r;
  UNROLLED for (int i = 0; i < LANES_LIMBS; i++) {
    const int word = LANES_LIMB_BITS * i / 64, from = LANES_LIMB_BITS * i % 64;
    V limb = V_SHR(words[word], from);
    if (word < 3 && from + LANES_LIMB_BITS > 64) limb = V_OR(limb, V_SHL(words[word + 1], 64 - from));
    r.l[i] = V_AND(limb, V_ALL(LANES_LIMB));
  }
  return r;
}
