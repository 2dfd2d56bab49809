/*
 * What is computed in several lanes at once is written once, in files that are included for each kind of vectors: secp256k1-points.h, keccak-vectors.h.
 * Before them, vectors-avx512.h or vectors-avx2.h is included, which defines
 *
 * VECTORS, VECTORS_TARGET: the name of the kind, and of the features of the processor that it needs
 * V: a vector of V_LANES lanes, one word of 64 bits each; V_…: operations on it
 * vectors_read: eight words of each lane, from an address each; vectors_write: to addresses at equal distances; it leaves the words in disorder
 *
 * Functions of such files have the kind behind their names; macros let the files say the name alone.
 */
#ifndef RNODE_VECTORS_H
#define RNODE_VECTORS_H
#include <immintrin.h>
#include "words.h"

#define LANES __attribute__((target(VECTORS_TARGET)))
#define LANES_INLINE LANES static inline __attribute__((always_inline))
#define UNROLLED _Pragma("GCC unroll 32")
/* One bit a lane, the lowest of the first */
typedef uint8_t lanes_mask;
#define LANES_ALL ((lanes_mask)((1u << V_LANES) - 1))

#define OF_VECTORS(name) CONCAT(name, VECTORS)
#define vectors_transpose OF_VECTORS(vectors_transpose)
#define vectors_read OF_VECTORS(vectors_read)
#define vectors_write OF_VECTORS(vectors_write)
#endif
