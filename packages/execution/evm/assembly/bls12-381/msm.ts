/**
 * Multi-scalar multiplication in the subgroups of order r. A scalar is written in base −x, where x is the curve's parameter: four
 * digits of 64 bits. Endomorphisms give the multiples of a point by powers of −x. What remains are four 64-bit scalars per point,
 * whose doublings all points of a round share.
 */
import { coordinateSize, isG1, negate } from "./coordinates";
import { addAffine, addPoints, affineSize, allToAffine, double, fromAffine, pointSize, setInfinity } from "./curve";
import { BAD, POINT, pointBytes, readPoint, writePoint } from "./encoding";
import { isInG1, isInG2, PARAMETER, phiX, psiX, psiY } from "./subgroup";

const SCALAR_BYTES: usize = 32;
/** Points that share their doublings */
const ROUND: usize = 16;
const STREAMS: usize = 4;
/** Width of the non-adjacent forms: digits −7, −5 … 7, and the odd multiples that they need */
const WIDTH = 4;
const ENTRIES: usize = 4;
const MAX_DIGITS: usize = 72;

/** r, lowest word first */
const ORDER: usize = memory.data<u64>([0xffffffff00000001, 0x53bda402fffe5bfe, 0x3339d80809a1d805, 0x73eda753299d7d48]);

const SCALAR: usize = memory.data(32, 8);
const REDUCED: usize = memory.data(32, 8);

/** SCALAR ← 32 bytes, big-endian, modulo r. @returns whether it is not 0 */
function readScalar(bytes: usize): bool {
  for (let i: usize = 0; i < 4; i++) store<u64>(SCALAR + 8 * i, bswap(load<u64>(bytes + 24 - 8 * i)));
  for (let round = 0; round < 2; round++) {
    let borrow: u64 = 0;
    for (let i: usize = 0; i < 32; i += 8) {
      const a = load<u64>(SCALAR + i);
      const b = load<u64>(ORDER + i);
      const difference = a - b;
      store<u64>(REDUCED + i, difference - borrow);
      borrow = <u64>(a < b) | <u64>(difference < borrow);
    }
    if (borrow) break;
    memory.copy(SCALAR, REDUCED, 32);
  }
  return (load<u64>(SCALAR) | load<u64>(SCALAR, 8) | load<u64>(SCALAR, 16) | load<u64>(SCALAR, 24)) != 0;
}

/** SCALAR ← SCALAR / −x. @returns the remainder */
function divideScalar(): u64 {
  let remainder: u64 = 0;
  for (let i = 24; i >= 0; i -= 8) {
    const word = load<u64>(SCALAR + i);
    let quotient: u64 = 0;
    for (let bit = 63; bit >= 0; bit--) {
      const isLong = remainder >> 63 != 0;
      remainder = (remainder << 1) | ((word >> bit) & 1);
      quotient <<= 1;
      if (isLong || remainder >= PARAMETER) {
        remainder -= PARAMETER;
        quotient |= 1;
      }
    }
    store<u64>(SCALAR + i, quotient);
  }
  return remainder;
}

/** Digits of the round's scalars, lowest first, odd or zero */
const DIGITS: usize = memory.data(4608);
/** Number of digits of the longest scalar */
let longest: i32 = 0;

function recode(digits: usize, value: u64): void {
  memory.fill(digits, 0, MAX_DIGITS);
  for (let i = 0; value != 0; i++) {
    let carry: u64 = 0; // bit 64
    if (value & 1) {
      let digit = <i32>(value & ((1 << WIDTH) - 1));
      if (digit >= 1 << (WIDTH - 1)) digit -= 1 << WIDTH;
      store<i8>(digits + i, <i8>digit);
      longest = max(longest, i + 1);
      const before = value;
      value -= <u64>(<i64>digit);
      if (digit < 0 && value < before) carry = 1;
    }
    value = (value >> 1) | (carry << 63);
  }
}

/** [point][stream][entry] affine: odd multiples of the streams' points. Sizes are those of G2. */
const TABLES: usize = memory.data(65536, 16);
/** [point][1 or 2 streams][entry] Jacobian, before that */
const MULTIPLES: usize = memory.data(24576, 16);
const PRODUCTS: usize = memory.data(8192, 16);
const AFFINE: usize = memory.data(256, 16);
const TWICE: usize = memory.data(384, 16);
const SUM: usize = memory.data(384, 16);
const TOTAL: usize = memory.data(384, 16);
const NEGATIVE: usize = memory.data(256, 16);

/** Number of streams whose multiples are computed; those of the other streams follow by an endomorphism. */
@inline function computedStreams<G>(): usize {
  return isG1<G>() ? 2 : 1;
}

/** Computes p, 3p, 5p, 7p from the first of them */
function fillMultiples<G>(multiples: usize): void {
  double<G>(TWICE, multiples);
  for (let i: usize = 1; i < ENTRIES; i++) {
    const at = multiples + i * pointSize<G>();
    addPoints<G>(at, at - pointSize<G>(), TWICE);
  }
}

/** to ← (−x)^s·from for whole tables, s = 2 in G1: −φ, s = 1 in G2: −ψ */
function mapTable<G>(to: usize, from: usize): void {
  for (let i: usize = 0; i < ENTRIES * affineSize<G>(); i += affineSize<G>()) {
    const y = to + i + coordinateSize<G>();
    if (isG1<G>()) {
      phiX(to + i, from + i);
      negate<G>(y, from + i + coordinateSize<G>());
    } else {
      psiX(to + i, from + i);
      psiY(y, from + i + coordinateSize<G>());
      negate<G>(y, y);
    }
  }
}

function addDigit<G>(table: usize, digit: i32): void {
  if (digit == 0) return;
  const entry = table + affineSize<G>() * <usize>((abs(digit) - 1) >> 1);
  if (digit > 0) return addAffine<G>(SUM, SUM, entry);
  memory.copy(NEGATIVE, entry, affineSize<G>());
  negate<G>(NEGATIVE + coordinateSize<G>(), NEGATIVE + coordinateSize<G>());
  addAffine<G>(SUM, SUM, NEGATIVE);
}

/** TOTAL ← TOTAL + Σ of the round's points times their scalars */
function finishRound<G>(count: usize): void {
  if (count == 0) return;
  const streams = computedStreams<G>();
  const tableSize = ENTRIES * affineSize<G>();
  for (let i: usize = 0; i < count * streams; i++) fillMultiples<G>(MULTIPLES + i * ENTRIES * pointSize<G>());
  // written consecutively first, then moved to their places, the last one first
  allToAffine<G>(TABLES, MULTIPLES, count * streams * ENTRIES, PRODUCTS);
  for (let i = <isize>count - 1; i >= 0; i--) {
    const tables = TABLES + i * STREAMS * tableSize;
    memory.copy(tables, TABLES + i * streams * tableSize, streams * tableSize);
    for (let stream = streams; stream < STREAMS; stream++) {
      mapTable<G>(tables + stream * tableSize, tables + (stream - streams) * tableSize);
    }
  }
  setInfinity<G>(SUM);
  for (let position = longest - 1; position >= 0; position--) {
    double<G>(SUM, SUM);
    for (let i: usize = 0; i < count * STREAMS; i++)
      addDigit<G>(TABLES + i * tableSize, load<i8>(DIGITS + i * MAX_DIGITS + position));
  }
  addPoints<G>(TOTAL, TOTAL, SUM);
}

/**
 * Multiplies `count` times point ‖ scalar at `bytes`; the sum is left there.
 *
 * @returns whether the points are in the subgroup
 */
export function multiplyScalars<G>(bytes: usize, count: usize): bool {
  setInfinity<G>(TOTAL);
  longest = 0;
  let used: usize = 0;
  let from = bytes;
  for (let i: usize = 0; i < count; i++) {
    const kind = readPoint<G>(AFFINE, from);
    if (kind == BAD) return false;
    const multiples = MULTIPLES + used * computedStreams<G>() * ENTRIES * pointSize<G>();
    if (kind == POINT) {
      if (isG1<G>()) {
        if (!isInG1(AFFINE, multiples + ENTRIES * pointSize<G>())) return false;
      } else if (!isInG2(AFFINE)) return false;
      if (readScalar(from + pointBytes<G>())) {
        fromAffine<G>(multiples, AFFINE);
        const digits = DIGITS + used * STREAMS * MAX_DIGITS;
        for (let stream: usize = 0; stream < STREAMS; stream++) recode(digits + stream * MAX_DIGITS, divideScalar());
        used++;
      }
    }
    from += pointBytes<G>() + SCALAR_BYTES;
    if (used == ROUND || i == count - 1) {
      finishRound<G>(used);
      used = 0;
      longest = 0;
    }
  }
  writePoint<G>(bytes, TOTAL);
  return true;
}
