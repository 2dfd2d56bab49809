/** Access to linear memory and the words in it. Views become stale when the memory grows, so always go through this object. */
export class EngineMemory {
  bytes = new Uint8Array(0);
  view = new DataView(new ArrayBuffer(0));

  refresh(buffer: ArrayBuffer): void {
    this.bytes = new Uint8Array(buffer);
    this.view = new DataView(buffer);
  }

  u32(at: number): number {
    return this.view.getUint32(at, true);
  }

  setU32(at: number, value: number): void {
    this.view.setUint32(at, value, true);
  }

  u64(at: number): bigint {
    return this.view.getBigUint64(at, true);
  }

  setU64(at: number, value: bigint): void {
    this.view.setBigUint64(at, value, true);
  }

  i64(at: number): bigint {
    return this.view.getBigInt64(at, true);
  }

  /** A word as a number: four limbs, the least significant first. */
  word(at: number): bigint {
    const { view } = this;
    const a = view.getBigUint64(at, true);
    const b = view.getBigUint64(at + 8, true);
    const c = view.getBigUint64(at + 16, true);
    const d = view.getBigUint64(at + 24, true);
    if (d === 0n && c === 0n) return b === 0n ? a : (b << 64n) | a;
    return (d << 192n) | (c << 128n) | (b << 64n) | a;
  }

  setWord(at: number, value: bigint): void {
    const { view } = this;
    view.setBigUint64(at, value, true); // the setter takes the lowest 64 bits
    if (value < TWO_64) {
      view.setBigUint64(at + 8, 0n, true);
      view.setBigUint64(at + 16, 0n, true);
      view.setBigUint64(at + 24, 0n, true);
      return;
    }
    view.setBigUint64(at + 8, value >> 64n, true);
    view.setBigUint64(at + 16, value >> 128n, true);
    view.setBigUint64(at + 24, value >> 192n, true);
  }

  /** A word as 32 big-endian bytes. */
  rawWord(at: number): Uint8Array {
    return this.bytes.slice(at, at + 32).reverse();
  }

  /** A word from at most 32 big-endian bytes. */
  setRawWord(at: number, raw: Uint8Array): void {
    const { bytes } = this;
    const length = raw.length;
    for (let i = 0; i < length; i++) bytes[at + i] = raw[length - 1 - i]!;
    bytes.fill(0, at + length, at + 32);
  }

  /** A copy. */
  slice(at: number, length: number): Uint8Array {
    return this.bytes.slice(at, at + length);
  }
}

const TWO_64 = 1n << 64n;
