/*
 * The block of a translated module: its memory of SIZE bytes at M, SLACK bytes for accesses that begin at the memory's end, and its variables. Every
 * address is taken modulo SIZE: whatever the code computes, it stays in this block.
 */
#ifndef RNODE_MEMORY_H
#define RNODE_MEMORY_H
#include <stdint.h>
#include <string.h>

#define SIZE_BITS 20
#define SIZE (1u << SIZE_BITS)
#define SLACK 1024
#define GLOBALS (SIZE + SLACK)
#define BLOCK (GLOBALS + 1024)
#define AT(M, address) ((M) + ((address) & (SIZE - 1)))

#define LOAD(name, stored, value) \
  static inline value load_##name(const uint8_t *M, uint32_t address) { stored x; memcpy(&x, AT(M, address), sizeof x); return (value)x; }
LOAD(u8_32, uint8_t, uint32_t)
LOAD(s8_32, int8_t, uint32_t)
LOAD(u16_32, uint16_t, uint32_t)
LOAD(s16_32, int16_t, uint32_t)
LOAD(u32, uint32_t, uint32_t)
LOAD(u8_64, uint8_t, uint64_t)
LOAD(s8_64, int8_t, uint64_t)
LOAD(u16_64, uint16_t, uint64_t)
LOAD(s16_64, int16_t, uint64_t)
LOAD(u32_64, uint32_t, uint64_t)
LOAD(s32_64, int32_t, uint64_t)
LOAD(u64, uint64_t, uint64_t)

#define STORE(bits) \
  static inline void store_u##bits(uint8_t *M, uint32_t address, uint64_t value) { uint##bits##_t x = (uint##bits##_t)value; memcpy(AT(M, address), &x, sizeof x); }
STORE(8)
STORE(16)
STORE(32)
STORE(64)

/* Both ends are inside; what would go beyond them is a mistake of the module, and ends the process as it would end a WebAssembly call. */
static inline void check_range(uint32_t at, uint32_t length) {
  if ((uint64_t)at + length > SIZE) __builtin_trap();
}

static inline void copy_bytes(uint8_t *M, uint32_t to, uint32_t from, uint32_t length) {
  check_range(to, length);
  check_range(from, length);
  memmove(M + to, M + from, length);
}

static inline void fill_bytes(uint8_t *M, uint32_t to, uint32_t value, uint32_t length) {
  check_range(to, length);
  memset(M + to, (int)(value & 0xff), length);
}
#endif
