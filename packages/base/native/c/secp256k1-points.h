/* Points of secp256k1 in lanes. Included after a field for each kind of vectors. Formulas: Explicit-Formulas Database, shortw/jacobian-0. */
typedef struct {
  lanes x, y, z;
} lanes_point;

LANES_INLINE lanes lanes_negative(lanes a) { return lanes_minus(lanes_small(0), a); }

LANES static lanes_mask lanes_is_zero(lanes a) {
  a = lanes_canonical(a);
  V any = a.l[0];
  UNROLLED for (int i = 1; i < LANES_LIMBS; i++) any = V_OR(any, a.l[i]);
  return (lanes_mask)(~V_ANY_BIT(any, any) & LANES_ALL);
}

/* Four words of each number below p */
LANES_INLINE void lanes_to_words(V *words, lanes a) {
  a = lanes_canonical(a);
  UNROLLED for (int word = 0; word < 4; word++) {
    words[word] = V_ZERO;
    UNROLLED for (int i = 0; i < LANES_LIMBS; i++) {
      const int to = LANES_LIMB_BITS * i - 64 * word;
      if (to >= 0 && to < 64) words[word] = V_OR(words[word], V_SHL(a.l[i], to));
      else if (to < 0 && to > -LANES_LIMB_BITS) words[word] = V_OR(words[word], V_SHR(a.l[i], -to));
    }
  }
}

/* The same element in all lanes */
LANES_INLINE lanes lanes_of_all(const word *from) {
  V words[4];
  UNROLLED for (int i = 0; i < 4; i++) words[i] = V_ALL(from[i]);
  return lanes_of_words(words);
}

/* Two elements a lane, one behind the other */
LANES_INLINE void lanes_read_pairs(const uint8_t *const *from, lanes *a, lanes *b) {
  V words[8];
  vectors_read(words, from);
  *a = lanes_of_words(words);
  *b = lanes_of_words(words + 4);
}

LANES static void lanes_write_pairs(uint8_t *to, size_t stride, const lanes *a, const lanes *b) {
  V words[8];
  lanes_to_words(words, *a);
  lanes_to_words(words + 4, *b);
  vectors_write(to, stride, words);
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
LANES static void lanes_add(lanes_point *out, const lanes_point *p, const lanes *x, const lanes *y, lanes_mask negative) {
  const lanes zz = lanes_square(p->z);
  const lanes h = lanes_reduced(lanes_minus(lanes_product(*x, zz), p->x));
  lanes s = lanes_product(*y, lanes_product(zz, p->z));
  s = lanes_chosen(negative, s, lanes_negative(s));
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

/* 1/a in each lane, none of them 0, by one inversion. @param scratch 32 bytes of M */
LANES static lanes lanes_inverse(uint8_t *M, uint32_t scratch, lanes a) {
  V words[8];
  uint64_t elements[V_LANES][8], products[V_LANES][4], inverse[4], t[4];
  lanes_to_words(words, a);
  UNROLLED for (int i = 4; i < 8; i++) words[i] = V_ZERO;
  vectors_write((uint8_t *)elements, sizeof elements[0], words);
  memcpy(products[0], elements[0], 32);
  UNROLLED for (int i = 1; i < V_LANES; i++) secp256k1_multiply_words((word *)products[i], (word *)products[i - 1], (word *)elements[i]);
  memcpy(AT(M, scratch), products[V_LANES - 1], 32);
  secp256k1_invert(M, scratch, scratch);
  memcpy(inverse, AT(M, scratch), 32);
  for (int i = V_LANES - 1; i > 0; i--) {
    secp256k1_multiply_words((word *)t, (word *)inverse, (word *)products[i - 1]);
    secp256k1_multiply_words((word *)inverse, (word *)inverse, (word *)elements[i]);
    memcpy(elements[i], t, 32);
  }
  memcpy(elements[0], inverse, 32);
  const uint8_t *from[V_LANES];
  UNROLLED for (int i = 0; i < V_LANES; i++) from[i] = (const uint8_t *)elements[i];
  vectors_read(words, from);
  return lanes_of_words(words);
}

/* The multiples of the points, from 1 to 16, as pairs of words; and those multiplied by λ. */
typedef struct {
  uint8_t plain[V_LANES][LANES_ENTRIES][PAIR], mapped[V_LANES][LANES_ENTRIES][PAIR];
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
LANES_INLINE void lanes_add_digits(lanes_point *sum, const uint8_t *table, size_t stride, uint32_t entries, const uint8_t *digits, lanes_mask *empty, const lanes *one) {
  const uint8_t *entry[V_LANES];
  unsigned negative = 0, some = 0;
  UNROLLED for (int i = 0; i < V_LANES; i++) {
    int16_t digit;
    memcpy(&digit, digits + 2 * LANES_DIGITS * i, 2);
    const uint32_t size = (uint32_t)(digit < 0 ? -digit : digit);
    negative |= (unsigned)(digit < 0) << i;
    some |= (unsigned)(digit != 0) << i;
    entry[i] = table + stride * i + PAIR * (size_t)((size - 1) & (entries - 1));
  }
  lanes x, y;
  lanes_read_pairs(entry, &x, &y);
  lanes_point added;
  lanes_add(&added, sum, &x, &y, (lanes_mask)negative);
  const lanes_mask first = (lanes_mask)(some & *empty), other = (lanes_mask)(some & ~*empty);
  sum->x = lanes_chosen(other, sum->x, added.x);
  sum->y = lanes_chosen(other, sum->y, added.y);
  sum->z = lanes_chosen(other, sum->z, added.z);
  if (first == 0) return;
  sum->x = lanes_chosen(first, sum->x, x);
  sum->y = lanes_chosen(first, sum->y, lanes_chosen((lanes_mask)negative, y, lanes_reduced(lanes_negative(y))));
  sum->z = lanes_chosen(first, sum->z, *one);
  *empty &= (lanes_mask)~first;
}

/*
 * In each lane, the sum u1·G + u2·(x, y), y the root of x³ + 7 that is odd or even as the bit of `odd` says.
 *
 * @param points x of each point, 64 bytes apart
 * @param digits LANES_DIGITS numbers of 16 bits for each: u1 modulo 2^128, u1 / 2^128, and the halves of u2
 * @param constants x ‖ y of G, β
 * @param generator the multiples of G, then those of 2^128·G
 * @param sums Jacobian points; Z is 0 where these formulas have no answer (infinity on the way)
 * @returns the lanes in which x is that of a point
 */
LANES static uint32_t lanes_multiply(uint8_t *M, uint32_t points, uint32_t odd, uint32_t digits, uint32_t constants, uint32_t generator, uint32_t sums) {
  check_range(points, V_LANES * PAIR);
  check_range(digits, V_LANES * 2 * LANES_DIGITS);
  check_range(constants, PAIR + 32);
  check_range(generator, 2 * LANES_GENERATOR_ENTRIES * PAIR);
  check_range(sums, V_LANES * 96);
  const lanes generator_x = lanes_of_all(ELEMENT(constants)), generator_y = lanes_of_all(ELEMENT(constants + 32));
  const lanes beta = lanes_of_all(ELEMENT(constants + PAIR));
  const lanes one = lanes_small(1);
  const uint8_t *point[V_LANES];
  UNROLLED for (int i = 0; i < V_LANES; i++) point[i] = M + points + PAIR * i;
  lanes x, y;
  lanes_read_pairs(point, &x, &y);
  const lanes square = lanes_reduced(lanes_plus(lanes_product(lanes_square(x), x), lanes_small(7)));
  const lanes root = lanes_canonical(lanes_root(square));
  const lanes_mask is_point = lanes_is_zero(lanes_minus(lanes_square(root), square));
  const lanes_mask other = (lanes_mask)((V_ANY_BIT(root.l[0], V_ALL(1)) ^ odd) & LANES_ALL);
  y = lanes_chosen(other, root, lanes_reduced(lanes_negative(root)));
  /* any point will do elsewhere */
  x = lanes_chosen(is_point, generator_x, x);
  y = lanes_chosen(is_point, generator_y, y);

  lanes_tables tables;
  lanes_fill_tables(&tables, M, sums, &x, &y, &one, &beta);
  lanes_point sum = {one, one, one};
  lanes_mask empty = LANES_ALL;
  const uint8_t *low = M + digits, *high = low + 2 * LANES_GENERATOR_DIGITS, *first = high + 2 * LANES_GENERATOR_DIGITS;
  const uint8_t *second = first + 2 * LANES_POINT_DIGITS, *generators = M + generator;
  const size_t stride = sizeof tables.plain[0];
  for (int bit = LANES_POINT_WIDTH * (LANES_POINT_DIGITS - 1); bit >= 0; bit--) {
    if (empty != LANES_ALL) lanes_double(&sum, &sum);
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
  const lanes z = lanes_chosen(empty, sum.z, lanes_small(0));
  uint8_t written[V_LANES][PAIR];
  lanes_write_pairs(M + sums, 96, &sum.x, &sum.y);
  lanes_write_pairs(written[0], PAIR, &z, &z);
  for (int i = 0; i < V_LANES; i++) memcpy(M + sums + 96 * i + PAIR, written[i], 32);
  return is_point;
}
