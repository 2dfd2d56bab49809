/** An append-only byte buffer. PERF: it is reused for each group, so blocks create no garbage. */
export class ByteArena {
  /** views of it are valid until it grows */
  bytes = new Uint8Array(4096);
  size = 0;

  /** Reserves room for `count` bytes with arbitrary content. @returns its offset */
  reserve(count: number): number {
    const at = this.size;
    if (at + count > this.bytes.length) {
      const larger = new Uint8Array(Math.max(at + count, 2 * this.bytes.length));
      larger.set(this.bytes.subarray(0, at));
      this.bytes = larger;
    }
    this.size = at + count;
    return at;
  }

  /** @returns the offset of the bytes */
  append(bytes: Uint8Array): number {
    const at = this.reserve(bytes.length);
    this.bytes.set(bytes, at);
    return at;
  }

  clear(): void {
    this.size = 0;
  }
}

/** An append-only list of 32-bit integers, kept from group to group for the same reason. */
export class NumberList {
  values = new Int32Array(256);
  length = 0;

  /** @returns its index */
  push(value: number): number {
    if (this.length === this.values.length) {
      const larger = new Int32Array(2 * this.length);
      larger.set(this.values);
      this.values = larger;
    }
    this.values[this.length] = value;
    return this.length++;
  }

  clear(): void {
    this.length = 0;
  }
}
