/** Bytes one after the other. PERF: kept from group to group, so that what a block leaves behind is nothing for the garbage collector. */
export class ByteArena {
  /** views of it are right until it grows */
  bytes = new Uint8Array(4096);
  size = 0;

  /** Room for `count` bytes, whatever is in them. @returns where it begins */
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

  /** @returns where they begin */
  append(bytes: Uint8Array): number {
    const at = this.reserve(bytes.length);
    this.bytes.set(bytes, at);
    return at;
  }

  clear(): void {
    this.size = 0;
  }
}

/** Whole numbers of 32 bits, one after the other; PERF: as above. */
export class NumberList {
  values = new Int32Array(256);
  length = 0;

  /** @returns its place */
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
