/*
 * Recovery of several public keys of secp256k1 at once, one in each lane of the vectors that the processor has: what assembly/secp256k1.ts imports. Included
 * after the field secp256k1 by scripts/fields.mjs.
 */
/* The widths of digits are those of assembly/secp256k1.ts. */
#define LANES_ENTRIES 16
#define LANES_POINT_WIDTH 5
#define LANES_POINT_DIGITS 26
#define LANES_GENERATOR_WIDTH 11
#define LANES_GENERATOR_DIGITS 12
#define LANES_GENERATOR_ENTRIES 1024
#define LANES_DIGITS (2 * LANES_GENERATOR_DIGITS + 2 * LANES_POINT_DIGITS)
/* Bytes of two elements */
#define PAIR 64

#define ELEMENT(address) ((const word *)AT(M, address))

#ifdef __x86_64__
#include "vectors.h"

/* Names for each kind of vectors: see vectors.h. */
#define lanes OF_VECTORS(lanes)
#define lanes_point OF_VECTORS(lanes_point)
#define lanes_tables OF_VECTORS(lanes_tables)
#define lanes_add OF_VECTORS(lanes_add)
#define lanes_add_digits OF_VECTORS(lanes_add_digits)
#define lanes_canonical OF_VECTORS(lanes_canonical)
#define lanes_carry OF_VECTORS(lanes_carry)
#define lanes_chosen OF_VECTORS(lanes_chosen)
#define lanes_double OF_VECTORS(lanes_double)
#define lanes_fill_tables OF_VECTORS(lanes_fill_tables)
#define lanes_fold_top OF_VECTORS(lanes_fold_top)
#define lanes_folded OF_VECTORS(lanes_folded)
#define lanes_inverse OF_VECTORS(lanes_inverse)
#define lanes_is_zero OF_VECTORS(lanes_is_zero)
#define lanes_minus OF_VECTORS(lanes_minus)
#define lanes_multiply OF_VECTORS(lanes_multiply)
#define lanes_negative OF_VECTORS(lanes_negative)
#define lanes_of_all OF_VECTORS(lanes_of_all)
#define lanes_of_words OF_VECTORS(lanes_of_words)
#define lanes_plus OF_VECTORS(lanes_plus)
#define lanes_product OF_VECTORS(lanes_product)
#define lanes_raised OF_VECTORS(lanes_raised)
#define lanes_read_pairs OF_VECTORS(lanes_read_pairs)
#define lanes_reduced OF_VECTORS(lanes_reduced)
#define lanes_root OF_VECTORS(lanes_root)
#define lanes_shifted OF_VECTORS(lanes_shifted)
#define lanes_small OF_VECTORS(lanes_small)
#define lanes_square OF_VECTORS(lanes_square)
#define lanes_to_words OF_VECTORS(lanes_to_words)
#define lanes_write_pairs OF_VECTORS(lanes_write_pairs)

#include "vectors-avx512.h"
#include "secp256k1-field-avx512.h"
#include "secp256k1-points.h"
#include "vectors-avx2.h"
#include "secp256k1-field-avx2.h"
#include "secp256k1-points.h"


static uint32_t secp256k1_lanes(uint8_t *M) { return x86_lanes(); }

static uint32_t secp256k1_multiply_lanes(
  uint8_t *M, uint32_t count, uint32_t points, uint32_t odd, uint32_t digits, uint32_t constants, uint32_t generator, uint32_t sums
) {
  if (count > x86_lanes()) return 0;
  if (count == 8) return lanes_multiply_avx512(M, points, odd, digits, constants, generator, sums);
  return lanes_multiply_avx2(M, points, odd, digits, constants, generator, sums);
}
#else
static uint32_t secp256k1_lanes(uint8_t *M) { return 0; }

static uint32_t secp256k1_multiply_lanes(
  uint8_t *M, uint32_t count, uint32_t points, uint32_t odd, uint32_t digits, uint32_t constants, uint32_t generator, uint32_t sums
) {
  return 0;
}
#endif
