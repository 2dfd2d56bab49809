/** base ^ exponent for moduli that are odd, by Montgomery multiplication, or a power of 2^32. Numbers are u32 limbs, lowest first. */

/** 256 bytes; above that the host's big integers, with their subquadratic multiplication, are as fast. */
const MAX_LIMBS: usize = 64;
const MAX_SIZE: usize = 256;

/** powers 0 … 15 of the base, in Montgomery form */
const POWERS: usize = memory.data(4096, 8);
const RESULT: usize = memory.data(256, 8);
/** the product under way, with one limb more */
const T: usize = memory.data(264, 8);

let modulus: usize = 0;
let size: usize = 0;
/** −1 / modulus mod 2^32 */
let factor: u32 = 0;
let isOdd: bool = false;

/** out ← a·b / 2^(32·limbs) mod modulus, below the modulus */
function multiplyMontgomery(out: usize, a: usize, b: usize): void {
  const n = size;
  const m = modulus;
  const k = factor;
  memory.fill(T, 0, n + 4);
  for (let i: usize = 0; i < n; i += 4) {
    const x = <u64>load<u32>(a + i);
    let s = x * <u64>load<u32>(b) + <u64>load<u32>(T);
    const q = <u64>(<u32>s * k);
    let carry = s >> 32;
    let reduction = (q * <u64>load<u32>(m) + (s & 0xffffffff)) >> 32;
    for (let j: usize = 4; j < n; j += 4) {
      s = x * <u64>load<u32>(b + j) + <u64>load<u32>(T + j) + carry;
      carry = s >> 32;
      reduction += q * <u64>load<u32>(m + j) + (s & 0xffffffff);
      store<u32>(T + j - 4, <u32>reduction);
      reduction >>= 32;
    }
    s = <u64>load<u32>(T + n) + carry + reduction;
    store<u32>(T + n - 4, <u32>s);
    store<u32>(T + n, <u32>(s >> 32));
  }
  // below twice the modulus
  let isLess = load<u32>(T + n) == 0;
  if (isLess) {
    let at = n;
    do at -= 4;
    while (at > 0 && load<u32>(T + at) == load<u32>(m + at));
    isLess = load<u32>(T + at) < load<u32>(m + at);
  }
  if (isLess) {
    memory.copy(out, T, n);
    return;
  }
  let borrow: i64 = 0;
  for (let j: usize = 0; j < n; j += 4) {
    borrow += <i64>load<u32>(T + j) - <i64>load<u32>(m + j);
    store<u32>(out + j, <u32>borrow);
    borrow >>= 32;
  }
}

/** out ← a·b mod 2^(32·limbs) */
function multiplyLow(out: usize, a: usize, b: usize): void {
  const n = size;
  memory.fill(T, 0, n);
  for (let i: usize = 0; i < n; i += 4) {
    const x = <u64>load<u32>(a + i);
    if (x == 0) continue;
    let carry: u64 = 0;
    for (let j: usize = 0; i + j < n; j += 4) {
      carry += x * <u64>load<u32>(b + j) + <u64>load<u32>(T + i + j);
      store<u32>(T + i + j, <u32>carry);
      carry >>= 32;
    }
  }
  memory.copy(out, T, n);
}

@inline function multiply(out: usize, a: usize, b: usize): void {
  if (isOdd) multiplyMontgomery(out, a, b);
  else multiplyLow(out, a, b);
}

/**
 * At `bytes`: modulus, one and base, both in Montgomery form when the modulus is odd, of `limbs` limbs each, then the exponent,
 * big-endian. The result is left at `bytes`. When the modulus is even it stands for 2^(32·limbs).
 *
 * @returns 0 when there are too many limbs
 */
export function modexp(bytes: usize, limbs: usize, exponentBytes: usize): i32 {
  if (limbs > MAX_LIMBS) return 0;
  size = 4 * limbs;
  modulus = bytes;
  const lowest = load<u32>(modulus);
  isOdd = (lowest & 1) != 0;
  let inverse = lowest;
  for (let i = 0; i < 5; i++) inverse *= 2 - lowest * inverse;
  factor = -inverse;
  const one = bytes + size;
  const base = one + size;
  let at = base + size;
  const end = at + exponentBytes;
  while (at < end && load<u8>(at) == 0) at++;
  memory.copy(RESULT, one, size);
  if (end - at <= 4) {
    // not worth a table
    for (; at < end; at++) {
      const byte = <u32>load<u8>(at);
      for (let bit = 7; bit >= 0; bit--) {
        multiply(RESULT, RESULT, RESULT);
        if ((byte >> bit) & 1) multiply(RESULT, RESULT, base);
      }
    }
  } else {
    memory.copy(POWERS, one, size);
    for (let i: usize = 1; i < 16; i++) multiply(POWERS + i * MAX_SIZE, POWERS + (i - 1) * MAX_SIZE, base);
    for (; at < end; at++) {
      const byte = <usize>load<u8>(at);
      for (let half: usize = 0; half < 2; half++) {
        for (let i = 0; i < 4; i++) multiply(RESULT, RESULT, RESULT);
        const digit = half == 0 ? byte >> 4 : byte & 15;
        if (digit != 0) multiply(RESULT, RESULT, POWERS + digit * MAX_SIZE);
      }
    }
  }
  if (isOdd) {
    memory.fill(base, 0, size);
    store<u32>(base, 1);
    multiplyMontgomery(RESULT, RESULT, base);
  }
  memory.copy(bytes, RESULT, size);
  return 1;
}
