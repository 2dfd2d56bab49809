// Written by scripts/generate-bls12-381.mjs. The base field of BLS12-381 (EIP-2537): see scripts/lazy-field.mjs.

import { invert, isBelow, normalise, readBytes, writeBytes } from "../precompiles/field";

export const FP_SIZE: usize = 64;
const BITS: i32 = 28;
const MASK: i32 = 268435455;
const FACTOR: u64 = 268238845;
export const FP_MODULUS: usize = memory.data<i32>([268413611, 267386879, 67108793, 268430101, 103030443, 168782607, 258420946, 255349035, 74926980, 79351158, 195540547, 241804465, 32127359, 106513, 0, 0], 16);
/** 1 in Montgomery form */
export const FP_ONE: usize = memory.data<i32>([55049400, 226492416, 176409, 13493970, 208802528, 138027152, 3630751, 228652862, 162569026, 19495856, 85318031, 1231484, 106560762, 22394, 0, 0], 16);
export const PLAIN_ONE: usize = memory.data<i32>([1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0], 16);
export const SQUARED_RADIX: usize = memory.data<i32>([17002733, 114410309, 237256034, 247749715, 61986394, 9646461, 189740704, 97992840, 202435186, 140890392, 120719989, 265669968, 214476633, 51412, 0, 0], 16);
/** y² = x³ + 4 */
export const CURVE_B: usize = memory.data<i32>([220197600, 100663296, 705639, 53975880, 29903744, 15237699, 14523006, 109305080, 113405195, 77983426, 72836668, 4925937, 157807592, 89577, 0, 0], 16);
/** y² = x³ + 4(1 + u) */
export const TWIST_B: usize = memory.data<i32>([220197600, 100663296, 705639, 53975880, 29903744, 15237699, 14523006, 109305080, 113405195, 77983426, 72836668, 4925937, 157807592, 89577, 0, 0, 220197600, 100663296, 705639, 53975880, 29903744, 15237699, 14523006, 109305080, 113405195, 77983426, 72836668, 4925937, 157807592, 89577, 0, 0], 16);
export const HALF: usize = memory.data<i32>([27524700, 247463936, 88204, 6746985, 104401264, 203231304, 1815375, 114326431, 81284513, 143965656, 42659015, 615742, 53280381, 11197, 0, 0], 16);
/** (βx, y) = −x²·(x, y) in G1, x the curve's parameter */
export const BETA: usize = memory.data<i32>([175477402, 109164440, 36322973, 180093631, 82164549, 90074750, 75579671, 114315035, 182663293, 88787724, 10798923, 90257589, 191160422, 30450, 0, 0], 16);
/** ξ^((1 − p)/3) and ξ^((1 − p)/2), ξ = 1 + u */
export const PSI: usize = memory.data<i32>([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 92936209, 158222439, 30785820, 88336470, 20865894, 78707857, 182841275, 141034000, 160699143, 258998889, 184741623, 151546876, 109402393, 76062, 0, 0, 214006660, 214293077, 25386471, 65136247, 165981745, 163160186, 224798039, 192878999, 119325914, 174489490, 105977342, 77805324, 240874602, 53613, 0, 0, 54406951, 53093802, 41722322, 203293854, 205484154, 5622420, 33622907, 62470036, 224036522, 173297123, 89563204, 163999141, 59688213, 52899, 0, 0], 16);
/** ξ^(k·(p^n − 1)/6): n = 1, 2, 3, each with k = 1 … 5 */
export const FROBENIUS: usize = memory.data<i32>([166836792, 248851249, 51584792, 154304858, 56352319, 130327775, 208630885, 40286156, 44881151, 212744589, 37992072, 174141729, 120403823, 7230, 0, 0, 101576819, 18535630, 15524001, 114125243, 46678124, 38454832, 49790061, 215062879, 30045829, 135042025, 157548474, 67662736, 180158992, 99282, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 37886809, 200165479, 30609410, 74842500, 80498822, 209116160, 179210523, 180816594, 266565572, 239503032, 99423592, 150315392, 2841631, 53668, 0, 0, 54406951, 53093802, 41722322, 203293854, 205484154, 5622420, 33622907, 62470036, 224036522, 173297123, 89563204, 163999141, 59688213, 52899, 0, 0, 54406951, 53093802, 41722322, 203293854, 205484154, 5622420, 33622907, 62470036, 224036522, 173297123, 89563204, 163999141, 59688213, 52899, 0, 0, 92936209, 158222439, 30785820, 88336470, 20865894, 78707857, 182841275, 141034000, 160699143, 258998889, 184741623, 151546876, 109402393, 76062, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 221243743, 33509595, 93307115, 89163256, 261836474, 135950195, 242253792, 102756192, 482217, 117606257, 127555277, 69705414, 180092037, 60129, 0, 0, 47169868, 233877284, 242237134, 179266844, 109629425, 32832411, 16167154, 152592843, 74444763, 230180357, 67985269, 172099051, 120470778, 46383, 0, 0, 230526802, 67221400, 36499383, 193587601, 22531621, 228101903, 79210422, 74532441, 76796864, 108283581, 96116954, 91489073, 29285728, 52845, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 175477402, 109164440, 36322973, 180093631, 82164549, 90074750, 75579671, 114315035, 182663293, 88787724, 10798923, 90257589, 191160422, 30450, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 213364211, 40894463, 66932384, 254936131, 162663371, 30755454, 254790195, 26696173, 180793410, 59855301, 110222516, 240572981, 194002053, 84118, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 37886809, 200165479, 30609410, 74842500, 80498822, 209116160, 179210523, 180816594, 266565572, 239503032, 99423592, 150315392, 2841631, 53668, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 92936209, 158222439, 30785820, 88336470, 20865894, 78707857, 182841275, 141034000, 160699143, 258998889, 184741623, 151546876, 109402393, 76062, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 214006660, 214293077, 25386471, 65136247, 165981745, 163160186, 224798039, 192878999, 119325914, 174489490, 105977342, 77805324, 240874602, 53613, 0, 0, 54406951, 53093802, 41722322, 203293854, 205484154, 5622420, 33622907, 62470036, 224036522, 173297123, 89563204, 163999141, 59688213, 52899, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 55049400, 226492416, 176409, 13493970, 208802528, 138027152, 3630751, 228652862, 162569026, 19495856, 85318031, 1231484, 106560762, 22394, 0, 0, 214006660, 214293077, 25386471, 65136247, 165981745, 163160186, 224798039, 192878999, 119325914, 174489490, 105977342, 77805324, 240874602, 53613, 0, 0, 214006660, 214293077, 25386471, 65136247, 165981745, 163160186, 224798039, 192878999, 119325914, 174489490, 105977342, 77805324, 240874602, 53613, 0, 0, 213364211, 40894463, 66932384, 254936131, 162663371, 30755454, 254790195, 26696173, 180793410, 59855301, 110222516, 240572981, 194002053, 84118, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 54406951, 53093802, 41722322, 203293854, 205484154, 5622420, 33622907, 62470036, 224036522, 173297123, 89563204, 163999141, 59688213, 52899, 0, 0, 214006660, 214293077, 25386471, 65136247, 165981745, 163160186, 224798039, 192878999, 119325914, 174489490, 105977342, 77805324, 240874602, 53613, 0, 0], 16);

/** −64p … 64p, from 0 on to both sides */
const MULTIPLES: usize = memory.data(8256, 16) + 4096;

/** The highest limb keeps its sign. */
function carryAll(a: usize): void {
  let carry: i32 = 0;
  for (let i: usize = 0; i < 52; i += 4) {
    carry += load<i32>(a + i);
    store<i32>(a + i, carry & MASK);
    carry >>= BITS;
  }
  store<i32>(a, load<i32>(a, 52) + carry, 52);
}

for (let i = 1; i <= 64; i++) {
  for (let j: usize = 0; j < 56; j += 4) {
    const up = MULTIPLES + 64 * i + j;
    const down = MULTIPLES - 64 * i + j;
    store<i32>(up, load<i32>(up - 64) + load<i32>(FP_MODULUS + j));
    store<i32>(down, load<i32>(down + 64) - load<i32>(FP_MODULUS + j));
  }
  carryAll(MULTIPLES + 64 * i);
  carryAll(MULTIPLES - 64 * i);
}

/** 48 bytes, big-endian → element. @returns whether it is below the modulus */
export function fpRead(out: usize, bytes: usize): bool {
  memory.fill(out, 0, 64);
  readBytes(out, bytes, 48, 14, BITS);
  if (!isBelow(out, FP_MODULUS, 14)) return false;
  fpMultiply(out, out, SQUARED_RADIX);
  return true;
}

/** Out of Montgomery form, below the modulus: limbs */
export function fpPlain(out: usize, a: usize): void {
  fpMultiply(out, a, PLAIN_ONE); // 0 … p
  normalise(out, FP_MODULUS, 14, BITS);
}

const PLAIN: usize = memory.data(64, 16);

export function fpWrite(bytes: usize, a: usize): void {
  fpPlain(PLAIN, a);
  writeBytes(bytes, PLAIN, 48, 14, BITS);
}

/** Whether the number itself (out of Montgomery form) is odd */
export function fpIsOdd(a: usize): bool {
  fpPlain(PLAIN, a);
  return (load<u32>(PLAIN) & 1) != 0;
}

/** Whether it is a multiple of the modulus. Which one it would have to be is seen in the lowest limb. */
export function fpIsZero(a: usize): bool {
  const multiple = (load<i32>(a) * 196611) << 4 >> 4;
  if (multiple < -64 || multiple > 64) return false;
  memory.copy(PLAIN, a, 64);
  carryAll(PLAIN);
  return memory.compare(PLAIN, MULTIPLES + <isize>multiple * 64, 64) == 0;
}

/** 1 / a; 0 for 0 */
export function fpInvert(out: usize, a: usize): void {
  fpPlain(out, a);
  invert(out, out, FP_MODULUS, FACTOR, 14, BITS, 28);
  fpMultiply(out, out, SQUARED_RADIX);
}

@inline export function fpCopy(out: usize, a: usize): void {
  v128.store(out, v128.load(a, 0), 0);
  v128.store(out, v128.load(a, 16), 16);
  v128.store(out, v128.load(a, 32), 32);
  v128.store(out, v128.load(a, 48), 48);
}

@inline export function fpClear(out: usize): void {
  v128.store(out, i32x4(0, 0, 0, 0), 0);
  v128.store(out, i32x4(0, 0, 0, 0), 16);
  v128.store(out, i32x4(0, 0, 0, 0), 32);
  v128.store(out, i32x4(0, 0, 0, 0), 48);
}

export function fpMultiply(out: usize, a: usize, b: usize): void {
  const a0 = <i64>load<i32>(a, 0);
  const a1 = <i64>load<i32>(a, 4);
  const a2 = <i64>load<i32>(a, 8);
  const a3 = <i64>load<i32>(a, 12);
  const a4 = <i64>load<i32>(a, 16);
  const a5 = <i64>load<i32>(a, 20);
  const a6 = <i64>load<i32>(a, 24);
  const a7 = <i64>load<i32>(a, 28);
  const a8 = <i64>load<i32>(a, 32);
  const a9 = <i64>load<i32>(a, 36);
  const a10 = <i64>load<i32>(a, 40);
  const a11 = <i64>load<i32>(a, 44);
  const a12 = <i64>load<i32>(a, 48);
  const a13 = <i64>load<i32>(a, 52);
  const b0 = <i64>load<i32>(b, 0);
  const b1 = <i64>load<i32>(b, 4);
  const b2 = <i64>load<i32>(b, 8);
  const b3 = <i64>load<i32>(b, 12);
  const b4 = <i64>load<i32>(b, 16);
  const b5 = <i64>load<i32>(b, 20);
  const b6 = <i64>load<i32>(b, 24);
  const b7 = <i64>load<i32>(b, 28);
  const b8 = <i64>load<i32>(b, 32);
  const b9 = <i64>load<i32>(b, 36);
  const b10 = <i64>load<i32>(b, 40);
  const b11 = <i64>load<i32>(b, 44);
  const b12 = <i64>load<i32>(b, 48);
  const b13 = <i64>load<i32>(b, 52);
  const s0 = a0 + a7;
  const s1 = a1 + a8;
  const s2 = a2 + a9;
  const s3 = a3 + a10;
  const s4 = a4 + a11;
  const s5 = a5 + a12;
  const s6 = a6 + a13;
  const t0 = b0 + b7;
  const t1 = b1 + b8;
  const t2 = b2 + b9;
  const t3 = b3 + b10;
  const t4 = b4 + b11;
  const t5 = b5 + b12;
  const t6 = b6 + b13;
  const low0 = a0 * b0;
  const high0 = a7 * b7;
  const middle0 = s0 * t0 - low0 - high0;
  const low1 = a0 * b1 + a1 * b0;
  const high1 = a7 * b8 + a8 * b7;
  const middle1 = s0 * t1 + s1 * t0 - low1 - high1;
  const low2 = a0 * b2 + a1 * b1 + a2 * b0;
  const high2 = a7 * b9 + a8 * b8 + a9 * b7;
  const middle2 = s0 * t2 + s1 * t1 + s2 * t0 - low2 - high2;
  const low3 = a0 * b3 + a1 * b2 + a2 * b1 + a3 * b0;
  const high3 = a7 * b10 + a8 * b9 + a9 * b8 + a10 * b7;
  const middle3 = s0 * t3 + s1 * t2 + s2 * t1 + s3 * t0 - low3 - high3;
  const low4 = a0 * b4 + a1 * b3 + a2 * b2 + a3 * b1 + a4 * b0;
  const high4 = a7 * b11 + a8 * b10 + a9 * b9 + a10 * b8 + a11 * b7;
  const middle4 = s0 * t4 + s1 * t3 + s2 * t2 + s3 * t1 + s4 * t0 - low4 - high4;
  const low5 = a0 * b5 + a1 * b4 + a2 * b3 + a3 * b2 + a4 * b1 + a5 * b0;
  const high5 = a7 * b12 + a8 * b11 + a9 * b10 + a10 * b9 + a11 * b8 + a12 * b7;
  const middle5 = s0 * t5 + s1 * t4 + s2 * t3 + s3 * t2 + s4 * t1 + s5 * t0 - low5 - high5;
  const low6 = a0 * b6 + a1 * b5 + a2 * b4 + a3 * b3 + a4 * b2 + a5 * b1 + a6 * b0;
  const high6 = a7 * b13 + a8 * b12 + a9 * b11 + a10 * b10 + a11 * b9 + a12 * b8 + a13 * b7;
  const middle6 = s0 * t6 + s1 * t5 + s2 * t4 + s3 * t3 + s4 * t2 + s5 * t1 + s6 * t0 - low6 - high6;
  const low7 = a1 * b6 + a2 * b5 + a3 * b4 + a4 * b3 + a5 * b2 + a6 * b1;
  const high7 = a8 * b13 + a9 * b12 + a10 * b11 + a11 * b10 + a12 * b9 + a13 * b8;
  const middle7 = s1 * t6 + s2 * t5 + s3 * t4 + s4 * t3 + s5 * t2 + s6 * t1 - low7 - high7;
  const low8 = a2 * b6 + a3 * b5 + a4 * b4 + a5 * b3 + a6 * b2;
  const high8 = a9 * b13 + a10 * b12 + a11 * b11 + a12 * b10 + a13 * b9;
  const middle8 = s2 * t6 + s3 * t5 + s4 * t4 + s5 * t3 + s6 * t2 - low8 - high8;
  const low9 = a3 * b6 + a4 * b5 + a5 * b4 + a6 * b3;
  const high9 = a10 * b13 + a11 * b12 + a12 * b11 + a13 * b10;
  const middle9 = s3 * t6 + s4 * t5 + s5 * t4 + s6 * t3 - low9 - high9;
  const low10 = a4 * b6 + a5 * b5 + a6 * b4;
  const high10 = a11 * b13 + a12 * b12 + a13 * b11;
  const middle10 = s4 * t6 + s5 * t5 + s6 * t4 - low10 - high10;
  const low11 = a5 * b6 + a6 * b5;
  const high11 = a12 * b13 + a13 * b12;
  const middle11 = s5 * t6 + s6 * t5 - low11 - high11;
  const low12 = a6 * b6;
  const high12 = a13 * b13;
  const middle12 = s6 * t6 - low12 - high12;
  let sum: i64 = 0;
  sum += low0;
  const q0 = (sum * 268238845) & 268435455;
  sum = (sum + q0 * 268413611) >> 28;
  sum += low1 + q0 * 267386879;
  const q1 = (sum * 268238845) & 268435455;
  sum = (sum + q1 * 268413611) >> 28;
  sum += low2 + q0 * 67108793 + q1 * 267386879;
  const q2 = (sum * 268238845) & 268435455;
  sum = (sum + q2 * 268413611) >> 28;
  sum += low3 + q0 * 268430101 + q1 * 67108793 + q2 * 267386879;
  const q3 = (sum * 268238845) & 268435455;
  sum = (sum + q3 * 268413611) >> 28;
  sum += low4 + q0 * 103030443 + q1 * 268430101 + q2 * 67108793 + q3 * 267386879;
  const q4 = (sum * 268238845) & 268435455;
  sum = (sum + q4 * 268413611) >> 28;
  sum += low5 + q0 * 168782607 + q1 * 103030443 + q2 * 268430101 + q3 * 67108793 + q4 * 267386879;
  const q5 = (sum * 268238845) & 268435455;
  sum = (sum + q5 * 268413611) >> 28;
  sum += low6 + q0 * 258420946 + q1 * 168782607 + q2 * 103030443 + q3 * 268430101 + q4 * 67108793 + q5 * 267386879;
  const q6 = (sum * 268238845) & 268435455;
  sum = (sum + q6 * 268413611) >> 28;
  sum += low7 + middle0 + q0 * 255349035 + q1 * 258420946 + q2 * 168782607 + q3 * 103030443 + q4 * 268430101 + q5 * 67108793 + q6 * 267386879;
  const q7 = (sum * 268238845) & 268435455;
  sum = (sum + q7 * 268413611) >> 28;
  sum += low8 + middle1 + q0 * 74926980 + q1 * 255349035 + q2 * 258420946 + q3 * 168782607 + q4 * 103030443 + q5 * 268430101 + q6 * 67108793 + q7 * 267386879;
  const q8 = (sum * 268238845) & 268435455;
  sum = (sum + q8 * 268413611) >> 28;
  sum += low9 + middle2 + q0 * 79351158 + q1 * 74926980 + q2 * 255349035 + q3 * 258420946 + q4 * 168782607 + q5 * 103030443 + q6 * 268430101 + q7 * 67108793 + q8 * 267386879;
  const q9 = (sum * 268238845) & 268435455;
  sum = (sum + q9 * 268413611) >> 28;
  sum += low10 + middle3 + q0 * 195540547 + q1 * 79351158 + q2 * 74926980 + q3 * 255349035 + q4 * 258420946 + q5 * 168782607 + q6 * 103030443 + q7 * 268430101 + q8 * 67108793 + q9 * 267386879;
  const q10 = (sum * 268238845) & 268435455;
  sum = (sum + q10 * 268413611) >> 28;
  sum += low11 + middle4 + q0 * 241804465 + q1 * 195540547 + q2 * 79351158 + q3 * 74926980 + q4 * 255349035 + q5 * 258420946 + q6 * 168782607 + q7 * 103030443 + q8 * 268430101 + q9 * 67108793 + q10 * 267386879;
  const q11 = (sum * 268238845) & 268435455;
  sum = (sum + q11 * 268413611) >> 28;
  sum += low12 + middle5 + q0 * 32127359 + q1 * 241804465 + q2 * 195540547 + q3 * 79351158 + q4 * 74926980 + q5 * 255349035 + q6 * 258420946 + q7 * 168782607 + q8 * 103030443 + q9 * 268430101 + q10 * 67108793 + q11 * 267386879;
  const q12 = (sum * 268238845) & 268435455;
  sum = (sum + q12 * 268413611) >> 28;
  sum += middle6 + q0 * 106513 + q1 * 32127359 + q2 * 241804465 + q3 * 195540547 + q4 * 79351158 + q5 * 74926980 + q6 * 255349035 + q7 * 258420946 + q8 * 168782607 + q9 * 103030443 + q10 * 268430101 + q11 * 67108793 + q12 * 267386879;
  const q13 = (sum * 268238845) & 268435455;
  sum = (sum + q13 * 268413611) >> 28;
  sum += middle7 + high0 + q1 * 106513 + q2 * 32127359 + q3 * 241804465 + q4 * 195540547 + q5 * 79351158 + q6 * 74926980 + q7 * 255349035 + q8 * 258420946 + q9 * 168782607 + q10 * 103030443 + q11 * 268430101 + q12 * 67108793 + q13 * 267386879;
  const r0 = sum & 268435455;
  sum >>= 28;
  sum += middle8 + high1 + q2 * 106513 + q3 * 32127359 + q4 * 241804465 + q5 * 195540547 + q6 * 79351158 + q7 * 74926980 + q8 * 255349035 + q9 * 258420946 + q10 * 168782607 + q11 * 103030443 + q12 * 268430101 + q13 * 67108793;
  const r1 = sum & 268435455;
  sum >>= 28;
  sum += middle9 + high2 + q3 * 106513 + q4 * 32127359 + q5 * 241804465 + q6 * 195540547 + q7 * 79351158 + q8 * 74926980 + q9 * 255349035 + q10 * 258420946 + q11 * 168782607 + q12 * 103030443 + q13 * 268430101;
  const r2 = sum & 268435455;
  sum >>= 28;
  sum += middle10 + high3 + q4 * 106513 + q5 * 32127359 + q6 * 241804465 + q7 * 195540547 + q8 * 79351158 + q9 * 74926980 + q10 * 255349035 + q11 * 258420946 + q12 * 168782607 + q13 * 103030443;
  const r3 = sum & 268435455;
  sum >>= 28;
  sum += middle11 + high4 + q5 * 106513 + q6 * 32127359 + q7 * 241804465 + q8 * 195540547 + q9 * 79351158 + q10 * 74926980 + q11 * 255349035 + q12 * 258420946 + q13 * 168782607;
  const r4 = sum & 268435455;
  sum >>= 28;
  sum += middle12 + high5 + q6 * 106513 + q7 * 32127359 + q8 * 241804465 + q9 * 195540547 + q10 * 79351158 + q11 * 74926980 + q12 * 255349035 + q13 * 258420946;
  const r5 = sum & 268435455;
  sum >>= 28;
  sum += high6 + q7 * 106513 + q8 * 32127359 + q9 * 241804465 + q10 * 195540547 + q11 * 79351158 + q12 * 74926980 + q13 * 255349035;
  const r6 = sum & 268435455;
  sum >>= 28;
  sum += high7 + q8 * 106513 + q9 * 32127359 + q10 * 241804465 + q11 * 195540547 + q12 * 79351158 + q13 * 74926980;
  const r7 = sum & 268435455;
  sum >>= 28;
  sum += high8 + q9 * 106513 + q10 * 32127359 + q11 * 241804465 + q12 * 195540547 + q13 * 79351158;
  const r8 = sum & 268435455;
  sum >>= 28;
  sum += high9 + q10 * 106513 + q11 * 32127359 + q12 * 241804465 + q13 * 195540547;
  const r9 = sum & 268435455;
  sum >>= 28;
  sum += high10 + q11 * 106513 + q12 * 32127359 + q13 * 241804465;
  const r10 = sum & 268435455;
  sum >>= 28;
  sum += high11 + q12 * 106513 + q13 * 32127359;
  const r11 = sum & 268435455;
  sum >>= 28;
  sum += high12 + q13 * 106513;
  const r12 = sum & 268435455;
  sum >>= 28;
  const r13 = sum;
  v128.store(out, i64x2.replace_lane(i64x2.splat(r0 | (r1 << 32)), 1, r2 | (r3 << 32)), 0);
  v128.store(out, i64x2.replace_lane(i64x2.splat(r4 | (r5 << 32)), 1, r6 | (r7 << 32)), 16);
  v128.store(out, i64x2.replace_lane(i64x2.splat(r8 | (r9 << 32)), 1, r10 | (r11 << 32)), 32);
  v128.store(out, i64x2.replace_lane(i64x2.splat(0), 0, r12 | (r13 << 32)), 48);
}

export function fpSquare(out: usize, a: usize): void {
  const a0 = <i64>load<i32>(a, 0);
  const a1 = <i64>load<i32>(a, 4);
  const a2 = <i64>load<i32>(a, 8);
  const a3 = <i64>load<i32>(a, 12);
  const a4 = <i64>load<i32>(a, 16);
  const a5 = <i64>load<i32>(a, 20);
  const a6 = <i64>load<i32>(a, 24);
  const a7 = <i64>load<i32>(a, 28);
  const a8 = <i64>load<i32>(a, 32);
  const a9 = <i64>load<i32>(a, 36);
  const a10 = <i64>load<i32>(a, 40);
  const a11 = <i64>load<i32>(a, 44);
  const a12 = <i64>load<i32>(a, 48);
  const a13 = <i64>load<i32>(a, 52);
  const s0 = a0 + a7;
  const s1 = a1 + a8;
  const s2 = a2 + a9;
  const s3 = a3 + a10;
  const s4 = a4 + a11;
  const s5 = a5 + a12;
  const s6 = a6 + a13;
  const d0 = a0 << 1;
  const d1 = a1 << 1;
  const d2 = a2 << 1;
  const d3 = a3 << 1;
  const d4 = a4 << 1;
  const d5 = a5 << 1;
  const d6 = a6 << 1;
  const d7 = a7 << 1;
  const d8 = a8 << 1;
  const d9 = a9 << 1;
  const d10 = a10 << 1;
  const d11 = a11 << 1;
  const d12 = a12 << 1;
  const d13 = a13 << 1;
  const e0 = s0 << 1;
  const e1 = s1 << 1;
  const e2 = s2 << 1;
  const e3 = s3 << 1;
  const e4 = s4 << 1;
  const e5 = s5 << 1;
  const e6 = s6 << 1;
  const low0 = a0 * a0;
  const high0 = a7 * a7;
  const middle0 = s0 * s0 - low0 - high0;
  const low1 = d0 * a1;
  const high1 = d7 * a8;
  const middle1 = e0 * s1 - low1 - high1;
  const low2 = d0 * a2 + a1 * a1;
  const high2 = d7 * a9 + a8 * a8;
  const middle2 = e0 * s2 + s1 * s1 - low2 - high2;
  const low3 = d0 * a3 + d1 * a2;
  const high3 = d7 * a10 + d8 * a9;
  const middle3 = e0 * s3 + e1 * s2 - low3 - high3;
  const low4 = d0 * a4 + d1 * a3 + a2 * a2;
  const high4 = d7 * a11 + d8 * a10 + a9 * a9;
  const middle4 = e0 * s4 + e1 * s3 + s2 * s2 - low4 - high4;
  const low5 = d0 * a5 + d1 * a4 + d2 * a3;
  const high5 = d7 * a12 + d8 * a11 + d9 * a10;
  const middle5 = e0 * s5 + e1 * s4 + e2 * s3 - low5 - high5;
  const low6 = d0 * a6 + d1 * a5 + d2 * a4 + a3 * a3;
  const high6 = d7 * a13 + d8 * a12 + d9 * a11 + a10 * a10;
  const middle6 = e0 * s6 + e1 * s5 + e2 * s4 + s3 * s3 - low6 - high6;
  const low7 = d1 * a6 + d2 * a5 + d3 * a4;
  const high7 = d8 * a13 + d9 * a12 + d10 * a11;
  const middle7 = e1 * s6 + e2 * s5 + e3 * s4 - low7 - high7;
  const low8 = d2 * a6 + d3 * a5 + a4 * a4;
  const high8 = d9 * a13 + d10 * a12 + a11 * a11;
  const middle8 = e2 * s6 + e3 * s5 + s4 * s4 - low8 - high8;
  const low9 = d3 * a6 + d4 * a5;
  const high9 = d10 * a13 + d11 * a12;
  const middle9 = e3 * s6 + e4 * s5 - low9 - high9;
  const low10 = d4 * a6 + a5 * a5;
  const high10 = d11 * a13 + a12 * a12;
  const middle10 = e4 * s6 + s5 * s5 - low10 - high10;
  const low11 = d5 * a6;
  const high11 = d12 * a13;
  const middle11 = e5 * s6 - low11 - high11;
  const low12 = a6 * a6;
  const high12 = a13 * a13;
  const middle12 = s6 * s6 - low12 - high12;
  let sum: i64 = 0;
  sum += low0;
  const q0 = (sum * 268238845) & 268435455;
  sum = (sum + q0 * 268413611) >> 28;
  sum += low1 + q0 * 267386879;
  const q1 = (sum * 268238845) & 268435455;
  sum = (sum + q1 * 268413611) >> 28;
  sum += low2 + q0 * 67108793 + q1 * 267386879;
  const q2 = (sum * 268238845) & 268435455;
  sum = (sum + q2 * 268413611) >> 28;
  sum += low3 + q0 * 268430101 + q1 * 67108793 + q2 * 267386879;
  const q3 = (sum * 268238845) & 268435455;
  sum = (sum + q3 * 268413611) >> 28;
  sum += low4 + q0 * 103030443 + q1 * 268430101 + q2 * 67108793 + q3 * 267386879;
  const q4 = (sum * 268238845) & 268435455;
  sum = (sum + q4 * 268413611) >> 28;
  sum += low5 + q0 * 168782607 + q1 * 103030443 + q2 * 268430101 + q3 * 67108793 + q4 * 267386879;
  const q5 = (sum * 268238845) & 268435455;
  sum = (sum + q5 * 268413611) >> 28;
  sum += low6 + q0 * 258420946 + q1 * 168782607 + q2 * 103030443 + q3 * 268430101 + q4 * 67108793 + q5 * 267386879;
  const q6 = (sum * 268238845) & 268435455;
  sum = (sum + q6 * 268413611) >> 28;
  sum += low7 + middle0 + q0 * 255349035 + q1 * 258420946 + q2 * 168782607 + q3 * 103030443 + q4 * 268430101 + q5 * 67108793 + q6 * 267386879;
  const q7 = (sum * 268238845) & 268435455;
  sum = (sum + q7 * 268413611) >> 28;
  sum += low8 + middle1 + q0 * 74926980 + q1 * 255349035 + q2 * 258420946 + q3 * 168782607 + q4 * 103030443 + q5 * 268430101 + q6 * 67108793 + q7 * 267386879;
  const q8 = (sum * 268238845) & 268435455;
  sum = (sum + q8 * 268413611) >> 28;
  sum += low9 + middle2 + q0 * 79351158 + q1 * 74926980 + q2 * 255349035 + q3 * 258420946 + q4 * 168782607 + q5 * 103030443 + q6 * 268430101 + q7 * 67108793 + q8 * 267386879;
  const q9 = (sum * 268238845) & 268435455;
  sum = (sum + q9 * 268413611) >> 28;
  sum += low10 + middle3 + q0 * 195540547 + q1 * 79351158 + q2 * 74926980 + q3 * 255349035 + q4 * 258420946 + q5 * 168782607 + q6 * 103030443 + q7 * 268430101 + q8 * 67108793 + q9 * 267386879;
  const q10 = (sum * 268238845) & 268435455;
  sum = (sum + q10 * 268413611) >> 28;
  sum += low11 + middle4 + q0 * 241804465 + q1 * 195540547 + q2 * 79351158 + q3 * 74926980 + q4 * 255349035 + q5 * 258420946 + q6 * 168782607 + q7 * 103030443 + q8 * 268430101 + q9 * 67108793 + q10 * 267386879;
  const q11 = (sum * 268238845) & 268435455;
  sum = (sum + q11 * 268413611) >> 28;
  sum += low12 + middle5 + q0 * 32127359 + q1 * 241804465 + q2 * 195540547 + q3 * 79351158 + q4 * 74926980 + q5 * 255349035 + q6 * 258420946 + q7 * 168782607 + q8 * 103030443 + q9 * 268430101 + q10 * 67108793 + q11 * 267386879;
  const q12 = (sum * 268238845) & 268435455;
  sum = (sum + q12 * 268413611) >> 28;
  sum += middle6 + q0 * 106513 + q1 * 32127359 + q2 * 241804465 + q3 * 195540547 + q4 * 79351158 + q5 * 74926980 + q6 * 255349035 + q7 * 258420946 + q8 * 168782607 + q9 * 103030443 + q10 * 268430101 + q11 * 67108793 + q12 * 267386879;
  const q13 = (sum * 268238845) & 268435455;
  sum = (sum + q13 * 268413611) >> 28;
  sum += middle7 + high0 + q1 * 106513 + q2 * 32127359 + q3 * 241804465 + q4 * 195540547 + q5 * 79351158 + q6 * 74926980 + q7 * 255349035 + q8 * 258420946 + q9 * 168782607 + q10 * 103030443 + q11 * 268430101 + q12 * 67108793 + q13 * 267386879;
  const r0 = sum & 268435455;
  sum >>= 28;
  sum += middle8 + high1 + q2 * 106513 + q3 * 32127359 + q4 * 241804465 + q5 * 195540547 + q6 * 79351158 + q7 * 74926980 + q8 * 255349035 + q9 * 258420946 + q10 * 168782607 + q11 * 103030443 + q12 * 268430101 + q13 * 67108793;
  const r1 = sum & 268435455;
  sum >>= 28;
  sum += middle9 + high2 + q3 * 106513 + q4 * 32127359 + q5 * 241804465 + q6 * 195540547 + q7 * 79351158 + q8 * 74926980 + q9 * 255349035 + q10 * 258420946 + q11 * 168782607 + q12 * 103030443 + q13 * 268430101;
  const r2 = sum & 268435455;
  sum >>= 28;
  sum += middle10 + high3 + q4 * 106513 + q5 * 32127359 + q6 * 241804465 + q7 * 195540547 + q8 * 79351158 + q9 * 74926980 + q10 * 255349035 + q11 * 258420946 + q12 * 168782607 + q13 * 103030443;
  const r3 = sum & 268435455;
  sum >>= 28;
  sum += middle11 + high4 + q5 * 106513 + q6 * 32127359 + q7 * 241804465 + q8 * 195540547 + q9 * 79351158 + q10 * 74926980 + q11 * 255349035 + q12 * 258420946 + q13 * 168782607;
  const r4 = sum & 268435455;
  sum >>= 28;
  sum += middle12 + high5 + q6 * 106513 + q7 * 32127359 + q8 * 241804465 + q9 * 195540547 + q10 * 79351158 + q11 * 74926980 + q12 * 255349035 + q13 * 258420946;
  const r5 = sum & 268435455;
  sum >>= 28;
  sum += high6 + q7 * 106513 + q8 * 32127359 + q9 * 241804465 + q10 * 195540547 + q11 * 79351158 + q12 * 74926980 + q13 * 255349035;
  const r6 = sum & 268435455;
  sum >>= 28;
  sum += high7 + q8 * 106513 + q9 * 32127359 + q10 * 241804465 + q11 * 195540547 + q12 * 79351158 + q13 * 74926980;
  const r7 = sum & 268435455;
  sum >>= 28;
  sum += high8 + q9 * 106513 + q10 * 32127359 + q11 * 241804465 + q12 * 195540547 + q13 * 79351158;
  const r8 = sum & 268435455;
  sum >>= 28;
  sum += high9 + q10 * 106513 + q11 * 32127359 + q12 * 241804465 + q13 * 195540547;
  const r9 = sum & 268435455;
  sum >>= 28;
  sum += high10 + q11 * 106513 + q12 * 32127359 + q13 * 241804465;
  const r10 = sum & 268435455;
  sum >>= 28;
  sum += high11 + q12 * 106513 + q13 * 32127359;
  const r11 = sum & 268435455;
  sum >>= 28;
  sum += high12 + q13 * 106513;
  const r12 = sum & 268435455;
  sum >>= 28;
  const r13 = sum;
  v128.store(out, i64x2.replace_lane(i64x2.splat(r0 | (r1 << 32)), 1, r2 | (r3 << 32)), 0);
  v128.store(out, i64x2.replace_lane(i64x2.splat(r4 | (r5 << 32)), 1, r6 | (r7 << 32)), 16);
  v128.store(out, i64x2.replace_lane(i64x2.splat(r8 | (r9 << 32)), 1, r10 | (r11 << 32)), 32);
  v128.store(out, i64x2.replace_lane(i64x2.splat(0), 0, r12 | (r13 << 32)), 48);
}

/** Columns of a·b, not reduced; `out` is neither of them */
export function fpWide(out: usize, a: usize, b: usize): void {
  const low_a0 = <i64>load<i32>(a, 0);
  const low_b0 = <i64>load<i32>(b, 0);
  const low_a1 = <i64>load<i32>(a, 4);
  const low_b1 = <i64>load<i32>(b, 4);
  const low_a2 = <i64>load<i32>(a, 8);
  const low_b2 = <i64>load<i32>(b, 8);
  const low_a3 = <i64>load<i32>(a, 12);
  const low_b3 = <i64>load<i32>(b, 12);
  const low_a4 = <i64>load<i32>(a, 16);
  const low_b4 = <i64>load<i32>(b, 16);
  const low_a5 = <i64>load<i32>(a, 20);
  const low_b5 = <i64>load<i32>(b, 20);
  const low_a6 = <i64>load<i32>(a, 24);
  const low_b6 = <i64>load<i32>(b, 24);
  const low0 = low_a0 * low_b0;
  store<i64>(out, low0, 0);
  const low1 = low_a0 * low_b1 + low_a1 * low_b0;
  store<i64>(out, low1, 8);
  const low2 = low_a0 * low_b2 + low_a1 * low_b1 + low_a2 * low_b0;
  store<i64>(out, low2, 16);
  const low3 = low_a0 * low_b3 + low_a1 * low_b2 + low_a2 * low_b1 + low_a3 * low_b0;
  store<i64>(out, low3, 24);
  const low4 = low_a0 * low_b4 + low_a1 * low_b3 + low_a2 * low_b2 + low_a3 * low_b1 + low_a4 * low_b0;
  store<i64>(out, low4, 32);
  const low5 = low_a0 * low_b5 + low_a1 * low_b4 + low_a2 * low_b3 + low_a3 * low_b2 + low_a4 * low_b1 + low_a5 * low_b0;
  store<i64>(out, low5, 40);
  const low6 = low_a0 * low_b6 + low_a1 * low_b5 + low_a2 * low_b4 + low_a3 * low_b3 + low_a4 * low_b2 + low_a5 * low_b1 + low_a6 * low_b0;
  store<i64>(out, low6, 48);
  const low7 = low_a1 * low_b6 + low_a2 * low_b5 + low_a3 * low_b4 + low_a4 * low_b3 + low_a5 * low_b2 + low_a6 * low_b1;
  store<i64>(out, low7, 56);
  const low8 = low_a2 * low_b6 + low_a3 * low_b5 + low_a4 * low_b4 + low_a5 * low_b3 + low_a6 * low_b2;
  store<i64>(out, low8, 64);
  const low9 = low_a3 * low_b6 + low_a4 * low_b5 + low_a5 * low_b4 + low_a6 * low_b3;
  store<i64>(out, low9, 72);
  const low10 = low_a4 * low_b6 + low_a5 * low_b5 + low_a6 * low_b4;
  store<i64>(out, low10, 80);
  const low11 = low_a5 * low_b6 + low_a6 * low_b5;
  store<i64>(out, low11, 88);
  const low12 = low_a6 * low_b6;
  store<i64>(out, low12, 96);
  const high_a0 = <i64>load<i32>(a, 28);
  const high_b0 = <i64>load<i32>(b, 28);
  const high_a1 = <i64>load<i32>(a, 32);
  const high_b1 = <i64>load<i32>(b, 32);
  const high_a2 = <i64>load<i32>(a, 36);
  const high_b2 = <i64>load<i32>(b, 36);
  const high_a3 = <i64>load<i32>(a, 40);
  const high_b3 = <i64>load<i32>(b, 40);
  const high_a4 = <i64>load<i32>(a, 44);
  const high_b4 = <i64>load<i32>(b, 44);
  const high_a5 = <i64>load<i32>(a, 48);
  const high_b5 = <i64>load<i32>(b, 48);
  const high_a6 = <i64>load<i32>(a, 52);
  const high_b6 = <i64>load<i32>(b, 52);
  const high0 = high_a0 * high_b0;
  store<i64>(out, high0, 112);
  const high1 = high_a0 * high_b1 + high_a1 * high_b0;
  store<i64>(out, high1, 120);
  const high2 = high_a0 * high_b2 + high_a1 * high_b1 + high_a2 * high_b0;
  store<i64>(out, high2, 128);
  const high3 = high_a0 * high_b3 + high_a1 * high_b2 + high_a2 * high_b1 + high_a3 * high_b0;
  store<i64>(out, high3, 136);
  const high4 = high_a0 * high_b4 + high_a1 * high_b3 + high_a2 * high_b2 + high_a3 * high_b1 + high_a4 * high_b0;
  store<i64>(out, high4, 144);
  const high5 = high_a0 * high_b5 + high_a1 * high_b4 + high_a2 * high_b3 + high_a3 * high_b2 + high_a4 * high_b1 + high_a5 * high_b0;
  store<i64>(out, high5, 152);
  const high6 = high_a0 * high_b6 + high_a1 * high_b5 + high_a2 * high_b4 + high_a3 * high_b3 + high_a4 * high_b2 + high_a5 * high_b1 + high_a6 * high_b0;
  store<i64>(out, high6, 160);
  const high7 = high_a1 * high_b6 + high_a2 * high_b5 + high_a3 * high_b4 + high_a4 * high_b3 + high_a5 * high_b2 + high_a6 * high_b1;
  store<i64>(out, high7, 168);
  const high8 = high_a2 * high_b6 + high_a3 * high_b5 + high_a4 * high_b4 + high_a5 * high_b3 + high_a6 * high_b2;
  store<i64>(out, high8, 176);
  const high9 = high_a3 * high_b6 + high_a4 * high_b5 + high_a5 * high_b4 + high_a6 * high_b3;
  store<i64>(out, high9, 184);
  const high10 = high_a4 * high_b6 + high_a5 * high_b5 + high_a6 * high_b4;
  store<i64>(out, high10, 192);
  const high11 = high_a5 * high_b6 + high_a6 * high_b5;
  store<i64>(out, high11, 200);
  const high12 = high_a6 * high_b6;
  store<i64>(out, high12, 208);
  store<i64>(out, 0, 104);
  const s0 = low_a0 + high_a0;
  const t0 = low_b0 + high_b0;
  const s1 = low_a1 + high_a1;
  const t1 = low_b1 + high_b1;
  const s2 = low_a2 + high_a2;
  const t2 = low_b2 + high_b2;
  const s3 = low_a3 + high_a3;
  const t3 = low_b3 + high_b3;
  const s4 = low_a4 + high_a4;
  const t4 = low_b4 + high_b4;
  const s5 = low_a5 + high_a5;
  const t5 = low_b5 + high_b5;
  const s6 = low_a6 + high_a6;
  const t6 = low_b6 + high_b6;
  store<i64>(out, load<i64>(out, 56) + s0 * t0 - low0 - high0, 56);
  store<i64>(out, load<i64>(out, 64) + s0 * t1 + s1 * t0 - low1 - high1, 64);
  store<i64>(out, load<i64>(out, 72) + s0 * t2 + s1 * t1 + s2 * t0 - low2 - high2, 72);
  store<i64>(out, load<i64>(out, 80) + s0 * t3 + s1 * t2 + s2 * t1 + s3 * t0 - low3 - high3, 80);
  store<i64>(out, load<i64>(out, 88) + s0 * t4 + s1 * t3 + s2 * t2 + s3 * t1 + s4 * t0 - low4 - high4, 88);
  store<i64>(out, load<i64>(out, 96) + s0 * t5 + s1 * t4 + s2 * t3 + s3 * t2 + s4 * t1 + s5 * t0 - low5 - high5, 96);
  store<i64>(out, load<i64>(out, 104) + s0 * t6 + s1 * t5 + s2 * t4 + s3 * t3 + s4 * t2 + s5 * t1 + s6 * t0 - low6 - high6, 104);
  store<i64>(out, load<i64>(out, 112) + s1 * t6 + s2 * t5 + s3 * t4 + s4 * t3 + s5 * t2 + s6 * t1 - low7 - high7, 112);
  store<i64>(out, load<i64>(out, 120) + s2 * t6 + s3 * t5 + s4 * t4 + s5 * t3 + s6 * t2 - low8 - high8, 120);
  store<i64>(out, load<i64>(out, 128) + s3 * t6 + s4 * t5 + s5 * t4 + s6 * t3 - low9 - high9, 128);
  store<i64>(out, load<i64>(out, 136) + s4 * t6 + s5 * t5 + s6 * t4 - low10 - high10, 136);
  store<i64>(out, load<i64>(out, 144) + s5 * t6 + s6 * t5 - low11 - high11, 144);
  store<i64>(out, load<i64>(out, 152) + s6 * t6 - low12 - high12, 152);
}

export function fpReduce(out: usize, wide: usize): void {
  let sum: i64 = 0;
  sum += load<i64>(wide, 0);
  const q0 = (sum * 268238845) & 268435455;
  sum = (sum + q0 * 268413611) >> 28;
  sum += load<i64>(wide, 8) + q0 * 267386879;
  const q1 = (sum * 268238845) & 268435455;
  sum = (sum + q1 * 268413611) >> 28;
  sum += load<i64>(wide, 16) + q0 * 67108793 + q1 * 267386879;
  const q2 = (sum * 268238845) & 268435455;
  sum = (sum + q2 * 268413611) >> 28;
  sum += load<i64>(wide, 24) + q0 * 268430101 + q1 * 67108793 + q2 * 267386879;
  const q3 = (sum * 268238845) & 268435455;
  sum = (sum + q3 * 268413611) >> 28;
  sum += load<i64>(wide, 32) + q0 * 103030443 + q1 * 268430101 + q2 * 67108793 + q3 * 267386879;
  const q4 = (sum * 268238845) & 268435455;
  sum = (sum + q4 * 268413611) >> 28;
  sum += load<i64>(wide, 40) + q0 * 168782607 + q1 * 103030443 + q2 * 268430101 + q3 * 67108793 + q4 * 267386879;
  const q5 = (sum * 268238845) & 268435455;
  sum = (sum + q5 * 268413611) >> 28;
  sum += load<i64>(wide, 48) + q0 * 258420946 + q1 * 168782607 + q2 * 103030443 + q3 * 268430101 + q4 * 67108793 + q5 * 267386879;
  const q6 = (sum * 268238845) & 268435455;
  sum = (sum + q6 * 268413611) >> 28;
  sum += load<i64>(wide, 56) + q0 * 255349035 + q1 * 258420946 + q2 * 168782607 + q3 * 103030443 + q4 * 268430101 + q5 * 67108793 + q6 * 267386879;
  const q7 = (sum * 268238845) & 268435455;
  sum = (sum + q7 * 268413611) >> 28;
  sum += load<i64>(wide, 64) + q0 * 74926980 + q1 * 255349035 + q2 * 258420946 + q3 * 168782607 + q4 * 103030443 + q5 * 268430101 + q6 * 67108793 + q7 * 267386879;
  const q8 = (sum * 268238845) & 268435455;
  sum = (sum + q8 * 268413611) >> 28;
  sum += load<i64>(wide, 72) + q0 * 79351158 + q1 * 74926980 + q2 * 255349035 + q3 * 258420946 + q4 * 168782607 + q5 * 103030443 + q6 * 268430101 + q7 * 67108793 + q8 * 267386879;
  const q9 = (sum * 268238845) & 268435455;
  sum = (sum + q9 * 268413611) >> 28;
  sum += load<i64>(wide, 80) + q0 * 195540547 + q1 * 79351158 + q2 * 74926980 + q3 * 255349035 + q4 * 258420946 + q5 * 168782607 + q6 * 103030443 + q7 * 268430101 + q8 * 67108793 + q9 * 267386879;
  const q10 = (sum * 268238845) & 268435455;
  sum = (sum + q10 * 268413611) >> 28;
  sum += load<i64>(wide, 88) + q0 * 241804465 + q1 * 195540547 + q2 * 79351158 + q3 * 74926980 + q4 * 255349035 + q5 * 258420946 + q6 * 168782607 + q7 * 103030443 + q8 * 268430101 + q9 * 67108793 + q10 * 267386879;
  const q11 = (sum * 268238845) & 268435455;
  sum = (sum + q11 * 268413611) >> 28;
  sum += load<i64>(wide, 96) + q0 * 32127359 + q1 * 241804465 + q2 * 195540547 + q3 * 79351158 + q4 * 74926980 + q5 * 255349035 + q6 * 258420946 + q7 * 168782607 + q8 * 103030443 + q9 * 268430101 + q10 * 67108793 + q11 * 267386879;
  const q12 = (sum * 268238845) & 268435455;
  sum = (sum + q12 * 268413611) >> 28;
  sum += load<i64>(wide, 104) + q0 * 106513 + q1 * 32127359 + q2 * 241804465 + q3 * 195540547 + q4 * 79351158 + q5 * 74926980 + q6 * 255349035 + q7 * 258420946 + q8 * 168782607 + q9 * 103030443 + q10 * 268430101 + q11 * 67108793 + q12 * 267386879;
  const q13 = (sum * 268238845) & 268435455;
  sum = (sum + q13 * 268413611) >> 28;
  sum += load<i64>(wide, 112) + q1 * 106513 + q2 * 32127359 + q3 * 241804465 + q4 * 195540547 + q5 * 79351158 + q6 * 74926980 + q7 * 255349035 + q8 * 258420946 + q9 * 168782607 + q10 * 103030443 + q11 * 268430101 + q12 * 67108793 + q13 * 267386879;
  const r0 = sum & 268435455;
  sum >>= 28;
  sum += load<i64>(wide, 120) + q2 * 106513 + q3 * 32127359 + q4 * 241804465 + q5 * 195540547 + q6 * 79351158 + q7 * 74926980 + q8 * 255349035 + q9 * 258420946 + q10 * 168782607 + q11 * 103030443 + q12 * 268430101 + q13 * 67108793;
  const r1 = sum & 268435455;
  sum >>= 28;
  sum += load<i64>(wide, 128) + q3 * 106513 + q4 * 32127359 + q5 * 241804465 + q6 * 195540547 + q7 * 79351158 + q8 * 74926980 + q9 * 255349035 + q10 * 258420946 + q11 * 168782607 + q12 * 103030443 + q13 * 268430101;
  const r2 = sum & 268435455;
  sum >>= 28;
  sum += load<i64>(wide, 136) + q4 * 106513 + q5 * 32127359 + q6 * 241804465 + q7 * 195540547 + q8 * 79351158 + q9 * 74926980 + q10 * 255349035 + q11 * 258420946 + q12 * 168782607 + q13 * 103030443;
  const r3 = sum & 268435455;
  sum >>= 28;
  sum += load<i64>(wide, 144) + q5 * 106513 + q6 * 32127359 + q7 * 241804465 + q8 * 195540547 + q9 * 79351158 + q10 * 74926980 + q11 * 255349035 + q12 * 258420946 + q13 * 168782607;
  const r4 = sum & 268435455;
  sum >>= 28;
  sum += load<i64>(wide, 152) + q6 * 106513 + q7 * 32127359 + q8 * 241804465 + q9 * 195540547 + q10 * 79351158 + q11 * 74926980 + q12 * 255349035 + q13 * 258420946;
  const r5 = sum & 268435455;
  sum >>= 28;
  sum += load<i64>(wide, 160) + q7 * 106513 + q8 * 32127359 + q9 * 241804465 + q10 * 195540547 + q11 * 79351158 + q12 * 74926980 + q13 * 255349035;
  const r6 = sum & 268435455;
  sum >>= 28;
  sum += load<i64>(wide, 168) + q8 * 106513 + q9 * 32127359 + q10 * 241804465 + q11 * 195540547 + q12 * 79351158 + q13 * 74926980;
  const r7 = sum & 268435455;
  sum >>= 28;
  sum += load<i64>(wide, 176) + q9 * 106513 + q10 * 32127359 + q11 * 241804465 + q12 * 195540547 + q13 * 79351158;
  const r8 = sum & 268435455;
  sum >>= 28;
  sum += load<i64>(wide, 184) + q10 * 106513 + q11 * 32127359 + q12 * 241804465 + q13 * 195540547;
  const r9 = sum & 268435455;
  sum >>= 28;
  sum += load<i64>(wide, 192) + q11 * 106513 + q12 * 32127359 + q13 * 241804465;
  const r10 = sum & 268435455;
  sum >>= 28;
  sum += load<i64>(wide, 200) + q12 * 106513 + q13 * 32127359;
  const r11 = sum & 268435455;
  sum >>= 28;
  sum += load<i64>(wide, 208) + q13 * 106513;
  const r12 = sum & 268435455;
  sum >>= 28;
  const r13 = sum;
  v128.store(out, i64x2.replace_lane(i64x2.splat(r0 | (r1 << 32)), 1, r2 | (r3 << 32)), 0);
  v128.store(out, i64x2.replace_lane(i64x2.splat(r4 | (r5 << 32)), 1, r6 | (r7 << 32)), 16);
  v128.store(out, i64x2.replace_lane(i64x2.splat(r8 | (r9 << 32)), 1, r10 | (r11 << 32)), 32);
  v128.store(out, i64x2.replace_lane(i64x2.splat(0), 0, r12 | (r13 << 32)), 48);
}

/** low ← low − high, middle ← middle − low − high */
export function fpWideCombine(low: usize, high: usize, middle: usize): void {
  const l0 = v128.load(low, 0);
  const h0 = v128.load(high, 0);
  v128.store(low, i64x2.sub(l0, h0), 0);
  v128.store(high, i64x2.add(l0, h0), 0);
  const l1 = v128.load(low, 16);
  const h1 = v128.load(high, 16);
  v128.store(low, i64x2.sub(l1, h1), 16);
  v128.store(high, i64x2.add(l1, h1), 16);
  const l2 = v128.load(low, 32);
  const h2 = v128.load(high, 32);
  v128.store(low, i64x2.sub(l2, h2), 32);
  v128.store(high, i64x2.add(l2, h2), 32);
  const l3 = v128.load(low, 48);
  const h3 = v128.load(high, 48);
  v128.store(low, i64x2.sub(l3, h3), 48);
  v128.store(high, i64x2.add(l3, h3), 48);
  const l4 = v128.load(low, 64);
  const h4 = v128.load(high, 64);
  v128.store(low, i64x2.sub(l4, h4), 64);
  v128.store(high, i64x2.add(l4, h4), 64);
  const l5 = v128.load(low, 80);
  const h5 = v128.load(high, 80);
  v128.store(low, i64x2.sub(l5, h5), 80);
  v128.store(high, i64x2.add(l5, h5), 80);
  const l6 = v128.load(low, 96);
  const h6 = v128.load(high, 96);
  v128.store(low, i64x2.sub(l6, h6), 96);
  v128.store(high, i64x2.add(l6, h6), 96);
  const l7 = v128.load(low, 112);
  const h7 = v128.load(high, 112);
  v128.store(low, i64x2.sub(l7, h7), 112);
  v128.store(high, i64x2.add(l7, h7), 112);
  const l8 = v128.load(low, 128);
  const h8 = v128.load(high, 128);
  v128.store(low, i64x2.sub(l8, h8), 128);
  v128.store(high, i64x2.add(l8, h8), 128);
  const l9 = v128.load(low, 144);
  const h9 = v128.load(high, 144);
  v128.store(low, i64x2.sub(l9, h9), 144);
  v128.store(high, i64x2.add(l9, h9), 144);
  const l10 = v128.load(low, 160);
  const h10 = v128.load(high, 160);
  v128.store(low, i64x2.sub(l10, h10), 160);
  v128.store(high, i64x2.add(l10, h10), 160);
  const l11 = v128.load(low, 176);
  const h11 = v128.load(high, 176);
  v128.store(low, i64x2.sub(l11, h11), 176);
  v128.store(high, i64x2.add(l11, h11), 176);
  const l12 = v128.load(low, 192);
  const h12 = v128.load(high, 192);
  v128.store(low, i64x2.sub(l12, h12), 192);
  v128.store(high, i64x2.add(l12, h12), 192);
  const l13 = v128.load(low, 208);
  const h13 = v128.load(high, 208);
  v128.store(low, i64x2.sub(l13, h13), 208);
  v128.store(high, i64x2.add(l13, h13), 208);
  v128.store(middle, i64x2.sub(v128.load(middle, 0), v128.load(high, 0)), 0);
  v128.store(middle, i64x2.sub(v128.load(middle, 16), v128.load(high, 16)), 16);
  v128.store(middle, i64x2.sub(v128.load(middle, 32), v128.load(high, 32)), 32);
  v128.store(middle, i64x2.sub(v128.load(middle, 48), v128.load(high, 48)), 48);
  v128.store(middle, i64x2.sub(v128.load(middle, 64), v128.load(high, 64)), 64);
  v128.store(middle, i64x2.sub(v128.load(middle, 80), v128.load(high, 80)), 80);
  v128.store(middle, i64x2.sub(v128.load(middle, 96), v128.load(high, 96)), 96);
  v128.store(middle, i64x2.sub(v128.load(middle, 112), v128.load(high, 112)), 112);
  v128.store(middle, i64x2.sub(v128.load(middle, 128), v128.load(high, 128)), 128);
  v128.store(middle, i64x2.sub(v128.load(middle, 144), v128.load(high, 144)), 144);
  v128.store(middle, i64x2.sub(v128.load(middle, 160), v128.load(high, 160)), 160);
  v128.store(middle, i64x2.sub(v128.load(middle, 176), v128.load(high, 176)), 176);
  v128.store(middle, i64x2.sub(v128.load(middle, 192), v128.load(high, 192)), 192);
  v128.store(middle, i64x2.sub(v128.load(middle, 208), v128.load(high, 208)), 208);
}

/** Sums of limbs without their carries: for arguments of one product, with others of half their size */
export function fpAddRaw(out: usize, a: usize, b: usize): void {
  v128.store(out, i32x4.add(v128.load(a, 0), v128.load(b, 0)), 0);
  v128.store(out, i32x4.add(v128.load(a, 16), v128.load(b, 16)), 16);
  v128.store(out, i32x4.add(v128.load(a, 32), v128.load(b, 32)), 32);
  v128.store(out, i32x4.add(v128.load(a, 48), v128.load(b, 48)), 48);
}

export function fpAdd(out: usize, a: usize, b: usize): void {
  const a0 = v128.load(a, 0);
  const b0 = v128.load(b, 0);
  const s0 = i32x4.add(a0, b0);
  const a1 = v128.load(a, 16);
  const b1 = v128.load(b, 16);
  const s1 = i32x4.add(a1, b1);
  const a2 = v128.load(a, 32);
  const b2 = v128.load(b, 32);
  const s2 = i32x4.add(a2, b2);
  const a3 = v128.load(a, 48);
  const b3 = v128.load(b, 48);
  const s3 = i32x4.add(a3, b3);
  const carry0 = i32x4.shr_s(s0, 28);
  v128.store(out, i32x4.add(v128.and(s0, i32x4(268435455, 268435455, 268435455, 268435455)), v128.shuffle<i32>(i32x4(0, 0, 0, 0), carry0, 3, 4, 5, 6)), 0);
  const carry1 = i32x4.shr_s(s1, 28);
  v128.store(out, i32x4.add(v128.and(s1, i32x4(268435455, 268435455, 268435455, 268435455)), v128.shuffle<i32>(carry0, carry1, 3, 4, 5, 6)), 16);
  const carry2 = i32x4.shr_s(s2, 28);
  v128.store(out, i32x4.add(v128.and(s2, i32x4(268435455, 268435455, 268435455, 268435455)), v128.shuffle<i32>(carry1, carry2, 3, 4, 5, 6)), 32);
  const carry3 = i32x4.shr_s(s3, 28);
  v128.store(out, i32x4.add(v128.and(s3, i32x4(268435455, -1, 0, 0)), v128.and(v128.shuffle<i32>(carry2, carry3, 3, 4, 5, 6), i32x4(-1, -1, 0, 0))), 48);
}

export function fpSubtract(out: usize, a: usize, b: usize): void {
  const a0 = v128.load(a, 0);
  const b0 = v128.load(b, 0);
  const s0 = i32x4.sub(a0, b0);
  const a1 = v128.load(a, 16);
  const b1 = v128.load(b, 16);
  const s1 = i32x4.sub(a1, b1);
  const a2 = v128.load(a, 32);
  const b2 = v128.load(b, 32);
  const s2 = i32x4.sub(a2, b2);
  const a3 = v128.load(a, 48);
  const b3 = v128.load(b, 48);
  const s3 = i32x4.sub(a3, b3);
  const carry0 = i32x4.shr_s(s0, 28);
  v128.store(out, i32x4.add(v128.and(s0, i32x4(268435455, 268435455, 268435455, 268435455)), v128.shuffle<i32>(i32x4(0, 0, 0, 0), carry0, 3, 4, 5, 6)), 0);
  const carry1 = i32x4.shr_s(s1, 28);
  v128.store(out, i32x4.add(v128.and(s1, i32x4(268435455, 268435455, 268435455, 268435455)), v128.shuffle<i32>(carry0, carry1, 3, 4, 5, 6)), 16);
  const carry2 = i32x4.shr_s(s2, 28);
  v128.store(out, i32x4.add(v128.and(s2, i32x4(268435455, 268435455, 268435455, 268435455)), v128.shuffle<i32>(carry1, carry2, 3, 4, 5, 6)), 32);
  const carry3 = i32x4.shr_s(s3, 28);
  v128.store(out, i32x4.add(v128.and(s3, i32x4(268435455, -1, 0, 0)), v128.and(v128.shuffle<i32>(carry2, carry3, 3, 4, 5, 6), i32x4(-1, -1, 0, 0))), 48);
}

export function fpSubtractTwo(out: usize, a: usize, b: usize, c: usize): void {
  const a0 = v128.load(a, 0);
  const b0 = v128.load(b, 0);
  const c0 = v128.load(c, 0);
  const s0 = i32x4.sub(i32x4.sub(a0, b0), c0);
  const a1 = v128.load(a, 16);
  const b1 = v128.load(b, 16);
  const c1 = v128.load(c, 16);
  const s1 = i32x4.sub(i32x4.sub(a1, b1), c1);
  const a2 = v128.load(a, 32);
  const b2 = v128.load(b, 32);
  const c2 = v128.load(c, 32);
  const s2 = i32x4.sub(i32x4.sub(a2, b2), c2);
  const a3 = v128.load(a, 48);
  const b3 = v128.load(b, 48);
  const c3 = v128.load(c, 48);
  const s3 = i32x4.sub(i32x4.sub(a3, b3), c3);
  const carry0 = i32x4.shr_s(s0, 28);
  v128.store(out, i32x4.add(v128.and(s0, i32x4(268435455, 268435455, 268435455, 268435455)), v128.shuffle<i32>(i32x4(0, 0, 0, 0), carry0, 3, 4, 5, 6)), 0);
  const carry1 = i32x4.shr_s(s1, 28);
  v128.store(out, i32x4.add(v128.and(s1, i32x4(268435455, 268435455, 268435455, 268435455)), v128.shuffle<i32>(carry0, carry1, 3, 4, 5, 6)), 16);
  const carry2 = i32x4.shr_s(s2, 28);
  v128.store(out, i32x4.add(v128.and(s2, i32x4(268435455, 268435455, 268435455, 268435455)), v128.shuffle<i32>(carry1, carry2, 3, 4, 5, 6)), 32);
  const carry3 = i32x4.shr_s(s3, 28);
  v128.store(out, i32x4.add(v128.and(s3, i32x4(268435455, -1, 0, 0)), v128.and(v128.shuffle<i32>(carry2, carry3, 3, 4, 5, 6), i32x4(-1, -1, 0, 0))), 48);
}

export function fpSubtractDouble(out: usize, a: usize, b: usize): void {
  const a0 = v128.load(a, 0);
  const b0 = v128.load(b, 0);
  const s0 = i32x4.sub(a0, i32x4.shl(b0, 1));
  const a1 = v128.load(a, 16);
  const b1 = v128.load(b, 16);
  const s1 = i32x4.sub(a1, i32x4.shl(b1, 1));
  const a2 = v128.load(a, 32);
  const b2 = v128.load(b, 32);
  const s2 = i32x4.sub(a2, i32x4.shl(b2, 1));
  const a3 = v128.load(a, 48);
  const b3 = v128.load(b, 48);
  const s3 = i32x4.sub(a3, i32x4.shl(b3, 1));
  const carry0 = i32x4.shr_s(s0, 28);
  v128.store(out, i32x4.add(v128.and(s0, i32x4(268435455, 268435455, 268435455, 268435455)), v128.shuffle<i32>(i32x4(0, 0, 0, 0), carry0, 3, 4, 5, 6)), 0);
  const carry1 = i32x4.shr_s(s1, 28);
  v128.store(out, i32x4.add(v128.and(s1, i32x4(268435455, 268435455, 268435455, 268435455)), v128.shuffle<i32>(carry0, carry1, 3, 4, 5, 6)), 16);
  const carry2 = i32x4.shr_s(s2, 28);
  v128.store(out, i32x4.add(v128.and(s2, i32x4(268435455, 268435455, 268435455, 268435455)), v128.shuffle<i32>(carry1, carry2, 3, 4, 5, 6)), 32);
  const carry3 = i32x4.shr_s(s3, 28);
  v128.store(out, i32x4.add(v128.and(s3, i32x4(268435455, -1, 0, 0)), v128.and(v128.shuffle<i32>(carry2, carry3, 3, 4, 5, 6), i32x4(-1, -1, 0, 0))), 48);
}

export function fpNegate(out: usize, a: usize): void {
  const a0 = v128.load(a, 0);
  const s0 = i32x4.neg(a0);
  const a1 = v128.load(a, 16);
  const s1 = i32x4.neg(a1);
  const a2 = v128.load(a, 32);
  const s2 = i32x4.neg(a2);
  const a3 = v128.load(a, 48);
  const s3 = i32x4.neg(a3);
  const carry0 = i32x4.shr_s(s0, 28);
  v128.store(out, i32x4.add(v128.and(s0, i32x4(268435455, 268435455, 268435455, 268435455)), v128.shuffle<i32>(i32x4(0, 0, 0, 0), carry0, 3, 4, 5, 6)), 0);
  const carry1 = i32x4.shr_s(s1, 28);
  v128.store(out, i32x4.add(v128.and(s1, i32x4(268435455, 268435455, 268435455, 268435455)), v128.shuffle<i32>(carry0, carry1, 3, 4, 5, 6)), 16);
  const carry2 = i32x4.shr_s(s2, 28);
  v128.store(out, i32x4.add(v128.and(s2, i32x4(268435455, 268435455, 268435455, 268435455)), v128.shuffle<i32>(carry1, carry2, 3, 4, 5, 6)), 32);
  const carry3 = i32x4.shr_s(s3, 28);
  v128.store(out, i32x4.add(v128.and(s3, i32x4(268435455, -1, 0, 0)), v128.and(v128.shuffle<i32>(carry2, carry3, 3, 4, 5, 6), i32x4(-1, -1, 0, 0))), 48);
}

export function fpDouble(out: usize, a: usize): void {
  const a0 = v128.load(a, 0);
  const s0 = i32x4.shl(a0, 1);
  const a1 = v128.load(a, 16);
  const s1 = i32x4.shl(a1, 1);
  const a2 = v128.load(a, 32);
  const s2 = i32x4.shl(a2, 1);
  const a3 = v128.load(a, 48);
  const s3 = i32x4.shl(a3, 1);
  const carry0 = i32x4.shr_s(s0, 28);
  v128.store(out, i32x4.add(v128.and(s0, i32x4(268435455, 268435455, 268435455, 268435455)), v128.shuffle<i32>(i32x4(0, 0, 0, 0), carry0, 3, 4, 5, 6)), 0);
  const carry1 = i32x4.shr_s(s1, 28);
  v128.store(out, i32x4.add(v128.and(s1, i32x4(268435455, 268435455, 268435455, 268435455)), v128.shuffle<i32>(carry0, carry1, 3, 4, 5, 6)), 16);
  const carry2 = i32x4.shr_s(s2, 28);
  v128.store(out, i32x4.add(v128.and(s2, i32x4(268435455, 268435455, 268435455, 268435455)), v128.shuffle<i32>(carry1, carry2, 3, 4, 5, 6)), 32);
  const carry3 = i32x4.shr_s(s3, 28);
  v128.store(out, i32x4.add(v128.and(s3, i32x4(268435455, -1, 0, 0)), v128.and(v128.shuffle<i32>(carry2, carry3, 3, 4, 5, 6), i32x4(-1, -1, 0, 0))), 48);
}

export function fpTriple(out: usize, a: usize): void {
  const a0 = v128.load(a, 0);
  const s0 = i32x4.add(a0, i32x4.shl(a0, 1));
  const a1 = v128.load(a, 16);
  const s1 = i32x4.add(a1, i32x4.shl(a1, 1));
  const a2 = v128.load(a, 32);
  const s2 = i32x4.add(a2, i32x4.shl(a2, 1));
  const a3 = v128.load(a, 48);
  const s3 = i32x4.add(a3, i32x4.shl(a3, 1));
  const carry0 = i32x4.shr_s(s0, 28);
  v128.store(out, i32x4.add(v128.and(s0, i32x4(268435455, 268435455, 268435455, 268435455)), v128.shuffle<i32>(i32x4(0, 0, 0, 0), carry0, 3, 4, 5, 6)), 0);
  const carry1 = i32x4.shr_s(s1, 28);
  v128.store(out, i32x4.add(v128.and(s1, i32x4(268435455, 268435455, 268435455, 268435455)), v128.shuffle<i32>(carry0, carry1, 3, 4, 5, 6)), 16);
  const carry2 = i32x4.shr_s(s2, 28);
  v128.store(out, i32x4.add(v128.and(s2, i32x4(268435455, 268435455, 268435455, 268435455)), v128.shuffle<i32>(carry1, carry2, 3, 4, 5, 6)), 32);
  const carry3 = i32x4.shr_s(s3, 28);
  v128.store(out, i32x4.add(v128.and(s3, i32x4(268435455, -1, 0, 0)), v128.and(v128.shuffle<i32>(carry2, carry3, 3, 4, 5, 6), i32x4(-1, -1, 0, 0))), 48);
}

export function fpTimesFour(out: usize, a: usize): void {
  const a0 = v128.load(a, 0);
  const s0 = i32x4.shl(a0, 2);
  const a1 = v128.load(a, 16);
  const s1 = i32x4.shl(a1, 2);
  const a2 = v128.load(a, 32);
  const s2 = i32x4.shl(a2, 2);
  const a3 = v128.load(a, 48);
  const s3 = i32x4.shl(a3, 2);
  const carry0 = i32x4.shr_s(s0, 28);
  v128.store(out, i32x4.add(v128.and(s0, i32x4(268435455, 268435455, 268435455, 268435455)), v128.shuffle<i32>(i32x4(0, 0, 0, 0), carry0, 3, 4, 5, 6)), 0);
  const carry1 = i32x4.shr_s(s1, 28);
  v128.store(out, i32x4.add(v128.and(s1, i32x4(268435455, 268435455, 268435455, 268435455)), v128.shuffle<i32>(carry0, carry1, 3, 4, 5, 6)), 16);
  const carry2 = i32x4.shr_s(s2, 28);
  v128.store(out, i32x4.add(v128.and(s2, i32x4(268435455, 268435455, 268435455, 268435455)), v128.shuffle<i32>(carry1, carry2, 3, 4, 5, 6)), 32);
  const carry3 = i32x4.shr_s(s3, 28);
  v128.store(out, i32x4.add(v128.and(s3, i32x4(268435455, -1, 0, 0)), v128.and(v128.shuffle<i32>(carry2, carry3, 3, 4, 5, 6), i32x4(-1, -1, 0, 0))), 48);
}

export function fpAddReduced(out: usize, a: usize, b: usize): void {
  const a0 = v128.load(a, 0);
  const b0 = v128.load(b, 0);
  let s0 = i32x4.add(a0, b0);
  const a1 = v128.load(a, 16);
  const b1 = v128.load(b, 16);
  let s1 = i32x4.add(a1, b1);
  const a2 = v128.load(a, 32);
  const b2 = v128.load(b, 32);
  let s2 = i32x4.add(a2, b2);
  const a3 = v128.load(a, 48);
  const b3 = v128.load(b, 48);
  let s3 = i32x4.add(a3, b3);
  const top = <i64>i32x4.extract_lane(s3, 1);
  const multiple = MULTIPLES + <isize>((top * 10322695) >> 40) * 64;
  s0 = i32x4.sub(s0, v128.load(multiple, 0));
  s1 = i32x4.sub(s1, v128.load(multiple, 16));
  s2 = i32x4.sub(s2, v128.load(multiple, 32));
  s3 = i32x4.sub(s3, v128.load(multiple, 48));
  const carry0 = i32x4.shr_s(s0, 28);
  v128.store(out, i32x4.add(v128.and(s0, i32x4(268435455, 268435455, 268435455, 268435455)), v128.shuffle<i32>(i32x4(0, 0, 0, 0), carry0, 3, 4, 5, 6)), 0);
  const carry1 = i32x4.shr_s(s1, 28);
  v128.store(out, i32x4.add(v128.and(s1, i32x4(268435455, 268435455, 268435455, 268435455)), v128.shuffle<i32>(carry0, carry1, 3, 4, 5, 6)), 16);
  const carry2 = i32x4.shr_s(s2, 28);
  v128.store(out, i32x4.add(v128.and(s2, i32x4(268435455, 268435455, 268435455, 268435455)), v128.shuffle<i32>(carry1, carry2, 3, 4, 5, 6)), 32);
  const carry3 = i32x4.shr_s(s3, 28);
  v128.store(out, i32x4.add(v128.and(s3, i32x4(268435455, -1, 0, 0)), v128.and(v128.shuffle<i32>(carry2, carry3, 3, 4, 5, 6), i32x4(-1, -1, 0, 0))), 48);
}

export function fpSubtractReduced(out: usize, a: usize, b: usize): void {
  const a0 = v128.load(a, 0);
  const b0 = v128.load(b, 0);
  let s0 = i32x4.sub(a0, b0);
  const a1 = v128.load(a, 16);
  const b1 = v128.load(b, 16);
  let s1 = i32x4.sub(a1, b1);
  const a2 = v128.load(a, 32);
  const b2 = v128.load(b, 32);
  let s2 = i32x4.sub(a2, b2);
  const a3 = v128.load(a, 48);
  const b3 = v128.load(b, 48);
  let s3 = i32x4.sub(a3, b3);
  const top = <i64>i32x4.extract_lane(s3, 1);
  const multiple = MULTIPLES + <isize>((top * 10322695) >> 40) * 64;
  s0 = i32x4.sub(s0, v128.load(multiple, 0));
  s1 = i32x4.sub(s1, v128.load(multiple, 16));
  s2 = i32x4.sub(s2, v128.load(multiple, 32));
  s3 = i32x4.sub(s3, v128.load(multiple, 48));
  const carry0 = i32x4.shr_s(s0, 28);
  v128.store(out, i32x4.add(v128.and(s0, i32x4(268435455, 268435455, 268435455, 268435455)), v128.shuffle<i32>(i32x4(0, 0, 0, 0), carry0, 3, 4, 5, 6)), 0);
  const carry1 = i32x4.shr_s(s1, 28);
  v128.store(out, i32x4.add(v128.and(s1, i32x4(268435455, 268435455, 268435455, 268435455)), v128.shuffle<i32>(carry0, carry1, 3, 4, 5, 6)), 16);
  const carry2 = i32x4.shr_s(s2, 28);
  v128.store(out, i32x4.add(v128.and(s2, i32x4(268435455, 268435455, 268435455, 268435455)), v128.shuffle<i32>(carry1, carry2, 3, 4, 5, 6)), 32);
  const carry3 = i32x4.shr_s(s3, 28);
  v128.store(out, i32x4.add(v128.and(s3, i32x4(268435455, -1, 0, 0)), v128.and(v128.shuffle<i32>(carry2, carry3, 3, 4, 5, 6), i32x4(-1, -1, 0, 0))), 48);
}

export function fpSubtractTwoReduced(out: usize, a: usize, b: usize, c: usize): void {
  const a0 = v128.load(a, 0);
  const b0 = v128.load(b, 0);
  const c0 = v128.load(c, 0);
  let s0 = i32x4.sub(i32x4.sub(a0, b0), c0);
  const a1 = v128.load(a, 16);
  const b1 = v128.load(b, 16);
  const c1 = v128.load(c, 16);
  let s1 = i32x4.sub(i32x4.sub(a1, b1), c1);
  const a2 = v128.load(a, 32);
  const b2 = v128.load(b, 32);
  const c2 = v128.load(c, 32);
  let s2 = i32x4.sub(i32x4.sub(a2, b2), c2);
  const a3 = v128.load(a, 48);
  const b3 = v128.load(b, 48);
  const c3 = v128.load(c, 48);
  let s3 = i32x4.sub(i32x4.sub(a3, b3), c3);
  const top = <i64>i32x4.extract_lane(s3, 1);
  const multiple = MULTIPLES + <isize>((top * 10322695) >> 40) * 64;
  s0 = i32x4.sub(s0, v128.load(multiple, 0));
  s1 = i32x4.sub(s1, v128.load(multiple, 16));
  s2 = i32x4.sub(s2, v128.load(multiple, 32));
  s3 = i32x4.sub(s3, v128.load(multiple, 48));
  const carry0 = i32x4.shr_s(s0, 28);
  v128.store(out, i32x4.add(v128.and(s0, i32x4(268435455, 268435455, 268435455, 268435455)), v128.shuffle<i32>(i32x4(0, 0, 0, 0), carry0, 3, 4, 5, 6)), 0);
  const carry1 = i32x4.shr_s(s1, 28);
  v128.store(out, i32x4.add(v128.and(s1, i32x4(268435455, 268435455, 268435455, 268435455)), v128.shuffle<i32>(carry0, carry1, 3, 4, 5, 6)), 16);
  const carry2 = i32x4.shr_s(s2, 28);
  v128.store(out, i32x4.add(v128.and(s2, i32x4(268435455, 268435455, 268435455, 268435455)), v128.shuffle<i32>(carry1, carry2, 3, 4, 5, 6)), 32);
  const carry3 = i32x4.shr_s(s3, 28);
  v128.store(out, i32x4.add(v128.and(s3, i32x4(268435455, -1, 0, 0)), v128.and(v128.shuffle<i32>(carry2, carry3, 3, 4, 5, 6), i32x4(-1, -1, 0, 0))), 48);
}

export function fpDoubleReduced(out: usize, a: usize): void {
  const a0 = v128.load(a, 0);
  let s0 = i32x4.shl(a0, 1);
  const a1 = v128.load(a, 16);
  let s1 = i32x4.shl(a1, 1);
  const a2 = v128.load(a, 32);
  let s2 = i32x4.shl(a2, 1);
  const a3 = v128.load(a, 48);
  let s3 = i32x4.shl(a3, 1);
  const top = <i64>i32x4.extract_lane(s3, 1);
  const multiple = MULTIPLES + <isize>((top * 10322695) >> 40) * 64;
  s0 = i32x4.sub(s0, v128.load(multiple, 0));
  s1 = i32x4.sub(s1, v128.load(multiple, 16));
  s2 = i32x4.sub(s2, v128.load(multiple, 32));
  s3 = i32x4.sub(s3, v128.load(multiple, 48));
  const carry0 = i32x4.shr_s(s0, 28);
  v128.store(out, i32x4.add(v128.and(s0, i32x4(268435455, 268435455, 268435455, 268435455)), v128.shuffle<i32>(i32x4(0, 0, 0, 0), carry0, 3, 4, 5, 6)), 0);
  const carry1 = i32x4.shr_s(s1, 28);
  v128.store(out, i32x4.add(v128.and(s1, i32x4(268435455, 268435455, 268435455, 268435455)), v128.shuffle<i32>(carry0, carry1, 3, 4, 5, 6)), 16);
  const carry2 = i32x4.shr_s(s2, 28);
  v128.store(out, i32x4.add(v128.and(s2, i32x4(268435455, 268435455, 268435455, 268435455)), v128.shuffle<i32>(carry1, carry2, 3, 4, 5, 6)), 32);
  const carry3 = i32x4.shr_s(s3, 28);
  v128.store(out, i32x4.add(v128.and(s3, i32x4(268435455, -1, 0, 0)), v128.and(v128.shuffle<i32>(carry2, carry3, 3, 4, 5, 6), i32x4(-1, -1, 0, 0))), 48);
}

export function fpTriplePlusDouble(out: usize, a: usize, b: usize): void {
  const a0 = v128.load(a, 0);
  const b0 = v128.load(b, 0);
  let s0 = i32x4.add(i32x4.add(a0, i32x4.shl(a0, 1)), i32x4.shl(b0, 1));
  const a1 = v128.load(a, 16);
  const b1 = v128.load(b, 16);
  let s1 = i32x4.add(i32x4.add(a1, i32x4.shl(a1, 1)), i32x4.shl(b1, 1));
  const a2 = v128.load(a, 32);
  const b2 = v128.load(b, 32);
  let s2 = i32x4.add(i32x4.add(a2, i32x4.shl(a2, 1)), i32x4.shl(b2, 1));
  const a3 = v128.load(a, 48);
  const b3 = v128.load(b, 48);
  let s3 = i32x4.add(i32x4.add(a3, i32x4.shl(a3, 1)), i32x4.shl(b3, 1));
  const top = <i64>i32x4.extract_lane(s3, 1);
  const multiple = MULTIPLES + <isize>((top * 10322695) >> 40) * 64;
  s0 = i32x4.sub(s0, v128.load(multiple, 0));
  s1 = i32x4.sub(s1, v128.load(multiple, 16));
  s2 = i32x4.sub(s2, v128.load(multiple, 32));
  s3 = i32x4.sub(s3, v128.load(multiple, 48));
  const carry0 = i32x4.shr_s(s0, 28);
  v128.store(out, i32x4.add(v128.and(s0, i32x4(268435455, 268435455, 268435455, 268435455)), v128.shuffle<i32>(i32x4(0, 0, 0, 0), carry0, 3, 4, 5, 6)), 0);
  const carry1 = i32x4.shr_s(s1, 28);
  v128.store(out, i32x4.add(v128.and(s1, i32x4(268435455, 268435455, 268435455, 268435455)), v128.shuffle<i32>(carry0, carry1, 3, 4, 5, 6)), 16);
  const carry2 = i32x4.shr_s(s2, 28);
  v128.store(out, i32x4.add(v128.and(s2, i32x4(268435455, 268435455, 268435455, 268435455)), v128.shuffle<i32>(carry1, carry2, 3, 4, 5, 6)), 32);
  const carry3 = i32x4.shr_s(s3, 28);
  v128.store(out, i32x4.add(v128.and(s3, i32x4(268435455, -1, 0, 0)), v128.and(v128.shuffle<i32>(carry2, carry3, 3, 4, 5, 6), i32x4(-1, -1, 0, 0))), 48);
}

export function fpTripleMinusDouble(out: usize, a: usize, b: usize): void {
  const a0 = v128.load(a, 0);
  const b0 = v128.load(b, 0);
  let s0 = i32x4.sub(i32x4.add(a0, i32x4.shl(a0, 1)), i32x4.shl(b0, 1));
  const a1 = v128.load(a, 16);
  const b1 = v128.load(b, 16);
  let s1 = i32x4.sub(i32x4.add(a1, i32x4.shl(a1, 1)), i32x4.shl(b1, 1));
  const a2 = v128.load(a, 32);
  const b2 = v128.load(b, 32);
  let s2 = i32x4.sub(i32x4.add(a2, i32x4.shl(a2, 1)), i32x4.shl(b2, 1));
  const a3 = v128.load(a, 48);
  const b3 = v128.load(b, 48);
  let s3 = i32x4.sub(i32x4.add(a3, i32x4.shl(a3, 1)), i32x4.shl(b3, 1));
  const top = <i64>i32x4.extract_lane(s3, 1);
  const multiple = MULTIPLES + <isize>((top * 10322695) >> 40) * 64;
  s0 = i32x4.sub(s0, v128.load(multiple, 0));
  s1 = i32x4.sub(s1, v128.load(multiple, 16));
  s2 = i32x4.sub(s2, v128.load(multiple, 32));
  s3 = i32x4.sub(s3, v128.load(multiple, 48));
  const carry0 = i32x4.shr_s(s0, 28);
  v128.store(out, i32x4.add(v128.and(s0, i32x4(268435455, 268435455, 268435455, 268435455)), v128.shuffle<i32>(i32x4(0, 0, 0, 0), carry0, 3, 4, 5, 6)), 0);
  const carry1 = i32x4.shr_s(s1, 28);
  v128.store(out, i32x4.add(v128.and(s1, i32x4(268435455, 268435455, 268435455, 268435455)), v128.shuffle<i32>(carry0, carry1, 3, 4, 5, 6)), 16);
  const carry2 = i32x4.shr_s(s2, 28);
  v128.store(out, i32x4.add(v128.and(s2, i32x4(268435455, 268435455, 268435455, 268435455)), v128.shuffle<i32>(carry1, carry2, 3, 4, 5, 6)), 32);
  const carry3 = i32x4.shr_s(s3, 28);
  v128.store(out, i32x4.add(v128.and(s3, i32x4(268435455, -1, 0, 0)), v128.and(v128.shuffle<i32>(carry2, carry3, 3, 4, 5, 6), i32x4(-1, -1, 0, 0))), 48);
}

/** (p − 3)/4, 48 bytes, big-endian */
export const ROOT_EXPONENT: usize = memory.data<u8>([6, 128, 68, 122, 142, 95, 249, 166, 146, 198, 233, 237, 144, 210, 235, 53, 217, 29, 210, 225, 60, 225, 68, 175, 217, 204, 52, 168, 61, 172, 61, 137, 7, 170, 255, 255, 172, 84, 255, 255, 238, 127, 191, 255, 255, 255, 234, 170]);
