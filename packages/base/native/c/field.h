/*
 * A prime field, included once for each: FIELD is its name, N its number of 64-bit words, VARIANT that number, with "full" behind it if the modulus
 * has its highest bit set; FIELD_p the modulus followed by −1/p mod 2^64, FIELD_squared and FIELD_cubed 2^(128N) and 2^(192N) mod p.
 * SPECIAL_MULTIPLY: a file with the multiplication of a field whose elements are not in Montgomery form; FIELD_squared and FIELD_cubed are 1 then.
 *
 * Elements are below the modulus, in Montgomery form (x·2^(64N)), lowest word first, anywhere in memory. Functions that the modules call have the
 * block M and addresses as arguments (memory.h); `out` may be one of the others.
 */
#define NAME(suffix) CONCAT(FIELD, suffix)
#define MODULUS NAME(p)

/* out ← t − p if t, with `high` as its word N, is not below p, otherwise t */
static inline void NAME(reduce_once)(word *out, const uint64_t *t, uint64_t high) {
  uint64_t r[N], borrow = 0;
  for (int i = 0; i < N; i++) {
    wide d = (wide)t[i] - MODULUS[i] - borrow;
    r[i] = (uint64_t)d;
    borrow = (uint64_t)(d >> 64) & 1;
  }
  uint64_t keep = -(uint64_t)(borrow > high);
  for (int i = 0; i < N; i++) out[i] = (t[i] & keep) | (r[i] & ~keep);
}

#ifdef SPECIAL_MULTIPLY
#include SPECIAL_MULTIPLY
#else
static void NAME(portable_multiply)(word *out, const word *a, const word *b) {
  uint64_t t[N] = {0}, high = 0;
#pragma GCC unroll 8
  for (int i = 0; i < N; i++) {
    uint64_t bi = b[i];
    wide A = (wide)a[0] * bi + t[0];
    uint64_t m = (uint64_t)A * MODULUS[N];
    wide C = (wide)m * MODULUS[0] + (uint64_t)A;
#pragma GCC unroll 8
    for (int j = 1; j < N; j++) {
      A = (wide)a[j] * bi + t[j] + (uint64_t)(A >> 64);
      C = (wide)m * MODULUS[j] + (uint64_t)A + (uint64_t)(C >> 64);
      t[j - 1] = (uint64_t)C;
    }
    wide top = (wide)high + (uint64_t)(C >> 64) + (uint64_t)(A >> 64);
    t[N - 1] = (uint64_t)top;
    high = (uint64_t)(top >> 64);
  }
  NAME(reduce_once)(out, t, high);
}

static __attribute__((noinline)) void NAME(multiply_words)(word *out, const word *a, const word *b) {
#ifdef __x86_64__
  if (x86_has_adx) {
    X86(multiply, VARIANT)(out, a, b, MODULUS);
    return;
  }
#endif
  NAME(portable_multiply)(out, a, b);
}

static inline void NAME(square_words)(word *out, const word *a) { NAME(multiply_words)(out, a, a); }
#endif

static inline void NAME(add_words)(word *out, const word *a, const word *b) {
#ifdef __x86_64__
  X86(add, VARIANT)(out, a, b, MODULUS);
#else
  uint64_t t[N], carry = 0;
  for (int i = 0; i < N; i++) {
    wide sum = (wide)a[i] + b[i] + carry;
    t[i] = (uint64_t)sum;
    carry = (uint64_t)(sum >> 64);
  }
  NAME(reduce_once)(out, t, carry);
#endif
}

static inline void NAME(subtract_words)(word *out, const word *a, const word *b) {
#ifdef __x86_64__
  X86(subtract, VARIANT)(out, a, b, MODULUS);
#else
  uint64_t t[N], borrow = 0, carry = 0;
  for (int i = 0; i < N; i++) {
    wide d = (wide)a[i] - b[i] - borrow;
    t[i] = (uint64_t)d;
    borrow = (uint64_t)(d >> 64) & 1;
  }
  for (int i = 0; i < N; i++) {
    wide sum = (wide)t[i] + (MODULUS[i] & -borrow) + carry;
    out[i] = (uint64_t)sum;
    carry = (uint64_t)(sum >> 64);
  }
#endif
}

#define W(address) ((word *)AT(M, address))
#define CONSTANT(name) ((const word *)NAME(name))

static void NAME(multiply)(uint8_t *M, uint32_t out, uint32_t a, uint32_t b) { NAME(multiply_words)(W(out), W(a), W(b)); }
static void NAME(square)(uint8_t *M, uint32_t out, uint32_t a) { NAME(square_words)(W(out), W(a)); }
static void NAME(add)(uint8_t *M, uint32_t out, uint32_t a, uint32_t b) { NAME(add_words)(W(out), W(a), W(b)); }
static void NAME(subtract)(uint8_t *M, uint32_t out, uint32_t a, uint32_t b) { NAME(subtract_words)(W(out), W(a), W(b)); }

static void NAME(subtract_two)(uint8_t *M, uint32_t out, uint32_t a, uint32_t b, uint32_t c) {
  uint64_t t[N];
  NAME(add_words)(t, W(b), W(c));
  NAME(subtract_words)(W(out), W(a), t);
}

static void NAME(subtract_double)(uint8_t *M, uint32_t out, uint32_t a, uint32_t b) { NAME(subtract_two)(M, out, a, b, b); }

static void NAME(negate)(uint8_t *M, uint32_t out, uint32_t a) {
  static const uint64_t zero[N];
  NAME(subtract_words)(W(out), (const word *)zero, W(a));
}

static void NAME(double)(uint8_t *M, uint32_t out, uint32_t a) { NAME(add_words)(W(out), W(a), W(a)); }

static void NAME(triple)(uint8_t *M, uint32_t out, uint32_t a) {
  uint64_t t[N];
  NAME(add_words)(t, W(a), W(a));
  NAME(add_words)(W(out), t, W(a));
}

static void NAME(times_four)(uint8_t *M, uint32_t out, uint32_t a) {
  uint64_t t[N];
  NAME(add_words)(t, W(a), W(a));
  NAME(add_words)(W(out), t, t);
}

static void NAME(times_eight)(uint8_t *M, uint32_t out, uint32_t a) {
  uint64_t t[N];
  NAME(add_words)(t, W(a), W(a));
  NAME(add_words)(t, t, t);
  NAME(add_words)(W(out), t, t);
}

/* 3a + 2b = 2(a + b) + a */
static void NAME(triple_plus_double)(uint8_t *M, uint32_t out, uint32_t a, uint32_t b) {
  uint64_t t[N];
  NAME(add_words)(t, W(a), W(b));
  NAME(add_words)(t, t, t);
  NAME(add_words)(W(out), t, W(a));
}

static void NAME(triple_minus_double)(uint8_t *M, uint32_t out, uint32_t a, uint32_t b) {
  uint64_t t[N];
  NAME(subtract_words)(t, W(a), W(b));
  NAME(add_words)(t, t, t);
  NAME(add_words)(W(out), t, W(a));
}

static void NAME(nine_plus)(uint8_t *M, uint32_t out, uint32_t a, uint32_t b) {
  uint64_t t[N];
  NAME(add_words)(t, W(a), W(a));
  NAME(add_words)(t, t, t);
  NAME(add_words)(t, t, t);
  NAME(add_words)(t, t, W(a));
  NAME(add_words)(W(out), t, W(b));
}

static void NAME(nine_minus)(uint8_t *M, uint32_t out, uint32_t a, uint32_t b) {
  uint64_t t[N];
  NAME(add_words)(t, W(a), W(a));
  NAME(add_words)(t, t, t);
  NAME(add_words)(t, t, t);
  NAME(add_words)(t, t, W(a));
  NAME(subtract_words)(W(out), t, W(b));
}

static uint32_t NAME(is_zero)(uint8_t *M, uint32_t a) {
  uint64_t any = 0;
  for (int i = 0; i < N; i++) any |= W(a)[i];
  return any == 0;
}

static void NAME(copy)(uint8_t *M, uint32_t out, uint32_t a) { memmove(AT(M, out), AT(M, a), 8 * N); }
static void NAME(clear)(uint8_t *M, uint32_t out) { memset(AT(M, out), 0, 8 * N); }

static int NAME(is_below)(const word *a, const uint64_t *b) {
  for (int i = N - 1; i >= 0; i--) {
    if (a[i] != b[i]) return a[i] < b[i];
  }
  return 0;
}

/* The number itself, out of Montgomery form */
static void NAME(plain_words)(word *out, const word *a) {
  static const uint64_t one[N] = {1};
  NAME(multiply_words)(out, a, (const word *)one);
}

/* 8N bytes, big-endian → element; 0: it is not below the modulus */
static uint32_t NAME(read)(uint8_t *M, uint32_t out, uint32_t bytes) {
  uint64_t t[N];
  for (int i = 0; i < N; i++) t[i] = read_big_endian(AT(M, bytes + 8 * (N - 1 - i)));
  if (!NAME(is_below)(t, MODULUS)) return 0;
  NAME(multiply_words)(W(out), t, CONSTANT(squared));
  return 1;
}

static void NAME(write)(uint8_t *M, uint32_t bytes, uint32_t a) {
  uint64_t t[N];
  NAME(plain_words)(t, W(a));
  for (int i = 0; i < N; i++) write_big_endian(AT(M, bytes + 8 * (N - 1 - i)), t[i]);
}

static void NAME(plain)(uint8_t *M, uint32_t out, uint32_t a) { NAME(plain_words)(W(out), W(a)); }

static uint32_t NAME(is_odd)(uint8_t *M, uint32_t a) {
  uint64_t t[N];
  NAME(plain_words)(t, W(a));
  return t[0] & 1;
}

/* |a·f + b·g| / 2^31, exactly; 1: it was negative. Factors are within ±2^31. */
static int NAME(combine)(uint64_t *out, const uint64_t *a, const uint64_t *b, int64_t f, int64_t g) {
  uint64_t t[N + 1];
  __int128 carry = 0;
  uint64_t fa = f < 0 ? -(uint64_t)f : (uint64_t)f, gb = g < 0 ? -(uint64_t)g : (uint64_t)g;
  for (int i = 0; i < N; i++) {
    wide x = (wide)a[i] * fa, y = (wide)b[i] * gb;
    carry += (__int128)(f < 0 ? -x : x);
    carry += (__int128)(g < 0 ? -y : y);
    t[i] = (uint64_t)carry;
    carry >>= 64;
  }
  t[N] = (uint64_t)carry;
  int negative = (int64_t)t[N] < 0;
  if (negative) {
    uint64_t borrow = 1;
    for (int i = 0; i <= N; i++) {
      t[i] = ~t[i] + borrow;
      borrow = borrow && t[i] == 0;
    }
  }
  for (int i = 0; i < N; i++) out[i] = t[i] >> 31 | t[i + 1] << 33;
  return negative;
}

/* (u·f + v·g) / 2^31 mod p, below p */
static void NAME(combine_modulo)(uint64_t *out, const uint64_t *u, const uint64_t *v, int64_t f, int64_t g) {
  uint64_t t[N + 1], minus[N];
  /* negative factors become factors of p − u, p − v */
  const uint64_t *x = u, *y = v;
  uint64_t other[N];
  if (f < 0) {
    uint64_t borrow = 0;
    for (int i = 0; i < N; i++) {
      wide d = (wide)MODULUS[i] - u[i] - borrow;
      minus[i] = (uint64_t)d;
      borrow = (uint64_t)(d >> 64) & 1;
    }
    x = minus;
    f = -f;
  }
  if (g < 0) {
    uint64_t borrow = 0;
    for (int i = 0; i < N; i++) {
      wide d = (wide)MODULUS[i] - v[i] - borrow;
      other[i] = (uint64_t)d;
      borrow = (uint64_t)(d >> 64) & 1;
    }
    y = other;
    g = -g;
  }
  /* at most 2^32·p before, and 2^31·p more that makes it divisible */
  uint64_t low = x[0] * (uint64_t)f + y[0] * (uint64_t)g;
  uint64_t q = (low * MODULUS[N]) & 0x7fffffff;
  wide carry = 0;
  uint64_t high = 0;
  for (int i = 0; i < N; i++) {
    wide sum = (wide)x[i] * (uint64_t)f + (uint64_t)carry;
    high = (uint64_t)(carry >> 64) + (uint64_t)(sum >> 64);
    sum = (wide)y[i] * (uint64_t)g + (uint64_t)sum;
    high += (uint64_t)(sum >> 64);
    sum = (wide)MODULUS[i] * q + (uint64_t)sum;
    high += (uint64_t)(sum >> 64);
    t[i] = (uint64_t)sum;
    carry = high;
  }
  t[N] = (uint64_t)carry;
  for (int i = 0; i < N; i++) out[i] = t[i] >> 31 | t[i + 1] << 33;
  high = t[N] >> 31;
  /* below 3p */
  NAME(reduce_once)(out, out, high);
  NAME(reduce_once)(out, out, 0);
}

static int NAME(bits)(const uint64_t *a, const uint64_t *b, int words) {
  for (int i = words - 1; i >= 0; i--) {
    if (a[i] | b[i]) return 64 * i + 64 - __builtin_clzll(a[i] | b[i]);
  }
  return 0;
}

/* The 33 highest of `bits` bits above the 31 lowest */
static inline uint64_t NAME(approximate)(const uint64_t *a, int bits) {
  if (bits <= 64) return a[0];
  int shift = bits - 33, i = shift >> 6, by = shift & 63;
  uint64_t high = a[i] >> by;
  if (by > 31) high |= a[i + 1] << (64 - by);
  return high << 31 | (a[0] & 0x7fffffff);
}

/*
 * out ← 1/a, 0 for 0: the binary algorithm of Euclid, 31 steps at a time on the highest and lowest bits of the numbers (Pornin, "Optimized Binary GCD
 * for Modular Inversion", 2020)
 */
static void NAME(invert)(uint8_t *M, uint32_t out, uint32_t address) {
  uint64_t a[N], b[N], u[N] = {1}, v[N] = {0}, s[N];
  for (int i = 0; i < N; i++) {
    a[i] = W(address)[i];
    b[i] = MODULUS[i];
  }
  /* a = u·input, b = v·input modulo p */
  for (;;) {
    uint64_t any = 0;
    for (int i = 0; i < N; i++) any |= a[i];
    if (any == 0) break;
    int bits = NAME(bits)(a, b, N);
    uint64_t x = NAME(approximate)(a, bits), y = NAME(approximate)(b, bits);
    int64_t f0 = 1, g0 = 0, f1 = 0, g1 = 1;
    for (int i = 0; i < 31; i++) {
      uint64_t odd = -(x & 1);
      uint64_t swap = odd & -(uint64_t)(x < y);
      uint64_t d = swap & (x ^ y);
      x ^= d;
      y ^= d;
      d = swap & (uint64_t)(f0 ^ f1);
      f0 ^= (int64_t)d;
      f1 ^= (int64_t)d;
      d = swap & (uint64_t)(g0 ^ g1);
      g0 ^= (int64_t)d;
      g1 ^= (int64_t)d;
      x = (x - (y & odd)) >> 1;
      f0 -= f1 & (int64_t)odd;
      g0 -= g1 & (int64_t)odd;
      f1 = (int64_t)((uint64_t)f1 << 1);
      g1 = (int64_t)((uint64_t)g1 << 1);
    }
    int minus0 = NAME(combine)(s, a, b, f0, g0);
    int minus1 = NAME(combine)(b, a, b, f1, g1);
    memcpy(a, s, sizeof s);
    if (minus0) f0 = -f0, g0 = -g0;
    if (minus1) f1 = -f1, g1 = -g1;
    NAME(combine_modulo)(s, u, v, f0, g0);
    NAME(combine_modulo)(v, u, v, f1, g1);
    memcpy(u, s, sizeof s);
  }
  /* b is 1, or p if a was 0, which leaves v = 0 */
  NAME(multiply_words)(W(out), v, CONSTANT(cubed));
}

/* c0 + c1·u with u² = −1: products are made of three in the field. `out` may be one of the arguments. */
static void NAME(multiply2)(uint8_t *M, uint32_t out, uint32_t a, uint32_t b) {
  uint64_t low[N], high[N], s[N], t[N];
  const word *a0 = W(a), *a1 = W(a + 8 * N), *b0 = W(b), *b1 = W(b + 8 * N);
  NAME(add_words)(s, a0, a1);
  NAME(add_words)(t, b0, b1);
  NAME(multiply_words)(s, s, t);
  NAME(multiply_words)(low, a0, b0);
  NAME(multiply_words)(high, a1, b1);
  NAME(subtract_words)(W(out), low, high);
  NAME(subtract_words)(s, s, low);
  NAME(subtract_words)(W(out + 8 * N), s, high);
}

static void NAME(square2)(uint8_t *M, uint32_t out, uint32_t a) {
  uint64_t s[N], d[N], t[N];
  const word *a0 = W(a), *a1 = W(a + 8 * N);
  NAME(add_words)(s, a0, a1);
  NAME(subtract_words)(d, a0, a1);
  NAME(add_words)(t, a0, a0);
  NAME(multiply_words)(W(out + 8 * N), t, a1);
  NAME(multiply_words)(W(out), s, d);
}

/* of the three products that multiply2 makes: low ← low − high, middle ← middle − low − high */
static void NAME(combine_products)(uint8_t *M, uint32_t low, uint32_t high, uint32_t middle) {
  NAME(subtract_words)(W(middle), W(middle), W(low));
  NAME(subtract_words)(W(middle), W(middle), W(high));
  NAME(subtract_words)(W(low), W(low), W(high));
}

/* 8N bytes, big-endian → number out of Montgomery form, less the modulus if it is not below it */
static void NAME(read_plain)(uint8_t *M, uint32_t out, uint32_t bytes) {
  uint64_t t[N];
  for (int i = 0; i < N; i++) t[i] = read_big_endian(AT(M, bytes + 8 * (N - 1 - i)));
  NAME(reduce_once)(W(out), t, 0);
}

#undef W
#undef CONSTANT
#undef NAME
#undef MODULUS
