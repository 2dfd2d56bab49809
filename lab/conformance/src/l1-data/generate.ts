import { bigintToBytes, concatBytes, encodeRlp, encodeRlpListOfEncoded, type RlpItem, rlpUint } from "@rnode/primitives";
import { createRandom, type Random } from "@rnode/primitives/testing";
import { CONFIG_UPDATE_TOPIC, TRANSACTION_DEPOSITED_TOPIC } from "@rnode/protocol";

/** A log without its address. */
export interface LogBytes {
  readonly topics: readonly Uint8Array[];
  readonly data: Uint8Array;
}

/** Integers at which widths end. */
const EDGES = [0n, 1n, 127n, 128n, 255n, 256n, 2n ** 16n - 1n, 2n ** 32n - 1n, 2n ** 53n, 2n ** 63n, 2n ** 64n - 1n];
const WIDE_EDGES = [...EDGES, 2n ** 64n, 2n ** 128n, 2n ** 255n, 2n ** 256n - 1n];
const LAYOUTS = [
  { selector: [0x01, 0x5d, 0x8e, 0xb9], lengthBytes: 260 },
  { selector: [0x44, 0x0a, 0x5e, 0x20], lengthBytes: 164 },
  { selector: [0x09, 0x89, 0x99, 0xbe], lengthBytes: 176 },
  { selector: [0x3d, 0xb6, 0xbe, 0x2b], lengthBytes: 178 },
] as const;

const word = (value: bigint | number): Uint8Array => bigintToBytes(BigInt(value), 32);
const times = <T>(count: number, make: () => T): T[] => Array.from({ length: count }, make);

/** Bytes that an L1 can carry: most nearly right, some right, some broken at one to three places. The same seed gives the same bytes. */
export class L1DataGenerator {
  readonly #random: Random;

  constructor(seed: number) {
    this.#random = createRandom(seed);
  }

  frames(): Uint8Array {
    return this.#broken(
      concatBytes(Uint8Array.of(this.#rarely() ? this.#byte() : 0), ...times(this.#random(4), () => this.#frame())),
    );
  }

  batch(): Uint8Array {
    return this.#broken(this.#random(10) < 7 ? this.#span() : this.#singular());
  }

  configUpdates(): LogBytes[] {
    return times(1 + this.#random(3), () => this.#configUpdate());
  }

  deposits(): LogBytes[] {
    return times(1 + this.#random(3), () => this.#deposit());
  }

  /** @returns calldata, and the layout that the chain demands: 0 Bedrock, 1 Ecotone, 2 Isthmus, 3 Jovian */
  attributes(): { readonly layout: number; readonly data: Uint8Array } {
    const layout = this.#random(4);
    const { selector, lengthBytes } = LAYOUTS[this.#rarely() ? this.#random(4) : layout]!;
    const data = concatBytes(Uint8Array.from(selector), this.#bytes(lengthBytes - 4));
    const clear = (from: number, to: number) => (this.#rarely() ? data : data.fill(0, from, to));
    // Padding of words, and the high bytes of integers.
    if (lengthBytes === 260) {
      for (const index of [0, 1, 4]) clear(4 + 32 * index, 4 + 32 * index + 26);
      clear(164, 176);
    } else {
      for (const at of [12, 20, 28]) clear(at, at + 2);
      clear(132, 144);
    }
    return { layout, data: this.#rarely() ? this.#broken(data) : data };
  }

  pick<T>(items: readonly T[]): T {
    return items[this.#random(items.length)]!;
  }

  #frame(): Uint8Array {
    const data = this.#bytes(this.#random(50));
    const length = this.#rarely() ? this.pick([0, 1_000_000, 1_000_001, 2 ** 32 - 1]) : data.length;
    const isLast = this.#rarely() ? this.#byte() : this.#random(2);
    return concatBytes(this.#bytes(18), bigintToBytes(BigInt(length), 4), data, Uint8Array.of(isLast));
  }

  #singular(): Uint8Array {
    const transactions = times(this.#random(4), () => this.#bytes(this.#random(70)));
    const fields = [this.#sized(32), rlpUint(this.#uint()), this.#sized(32), rlpUint(this.#uint()), transactions];
    return concatBytes(Uint8Array.of(0), encodeRlp(fields), this.#bytes(this.#rarely() ? 3 : 0));
  }

  #span(): Uint8Array {
    const counts = times(this.#rarely() ? 0 : 1 + this.#random(5), () => this.#random(4));
    const types = times(
      counts.reduce((sum, count) => sum + count, 0),
      () => this.pick(this.#rarely() ? [3, 5, 0x7e, 0x7f] : [0, 1, 2, 4, 0x7d]),
    );
    const creations = types.map((type) => this.#random(10) < (type === 4 ? 1 : 3));
    return concatBytes(
      Uint8Array.of(1),
      ...[uvarint(this.#uint()), uvarint(this.#uint()), this.#bytes(40)],
      ...[uvarint(counts.length), bitlist(counts.map(() => this.#coin())), ...counts.map(uvarint)],
      ...[bitlist(creations), bitlist(types.map(() => this.#coin()))],
      ...types.map(() => (this.#rarely() ? new Uint8Array(64) : this.#bytes(64))),
      ...creations.filter((isCreation) => !isCreation).map(() => this.#bytes(20)),
      ...types.map((type) => this.#spanTransaction(type)),
      ...types.map(() => uvarint(this.#uint())),
      ...types.map(() => uvarint(this.#uint())),
      bitlist(types.filter((type) => type === 0).map(() => this.#coin())),
    );
  }

  #spanTransaction(type: number): Uint8Array {
    // Of a post-exec transaction only the header of the list is read.
    if (type === 0x7d) return concatBytes(Uint8Array.of(type), encodeRlpListOfEncoded([this.#bytes(this.#random(90))]));
    const wide = () => rlpUint(this.#wide());
    const head = [wide(), wide()];
    const data = this.#bytes(this.#random(60));
    if (type === 0) return encodeRlp([...head, data]);
    const prices = type === 2 || type === 4 ? [...head, wide()] : head;
    const lists: RlpItem[] = [times(this.#random(3), () => [this.#sized(20), times(this.#random(3), () => this.#sized(32))])];
    if (type === 4) lists.push(times(this.#random(3), () => this.#authorization()));
    return concatBytes(Uint8Array.of(type), encodeRlp([...prices, data, ...lists]));
  }

  #authorization(): RlpItem {
    const wide = () => rlpUint(this.#wide());
    return [wide(), this.#sized(20), rlpUint(this.#uint()), rlpUint(BigInt(this.pick([0, 1, 27, 255, 256]))), wide(), wide()];
  }

  #configUpdate(): LogBytes {
    const type = this.#rarely() ? this.#random(300) : this.#random(9);
    const words = type === 1 ? [word(this.#wide()), this.#configWord()] : [this.#configWord()];
    const data = concatBytes(word(32), word(32 * words.length), ...words);
    const version = this.#rarely() ? word(this.#wide()) : word(0);
    return { topics: this.#topics([CONFIG_UPDATE_TOPIC, version, word(type)]), data: this.#rarely() ? this.#broken(data) : data };
  }

  /** An integer, an address, packed parameters, or a scalar with its version. */
  #configWord(): Uint8Array {
    const low = (size: number) => concatBytes(new Uint8Array(32 - size), this.#bytes(size));
    switch (this.#random(4)) {
      case 0:
        return word(this.#wide());
      case 1:
        return low(20);
      case 2:
        return low(this.pick([2, 4, 8, 12]));
      default:
        return concatBytes(Uint8Array.of(this.#random(3)), low(8).subarray(1));
    }
  }

  #deposit(): LogBytes {
    const flag = this.#rarely() ? this.#byte() : this.#random(2);
    const opaque = concatBytes(
      ...[word(this.#wide()), word(this.#wide()), this.#bytes(8)],
      ...[Uint8Array.of(flag), this.#bytes(this.#random(70))],
    );
    const padding = new Uint8Array((32 - (opaque.length % 32)) % 32).fill(this.#rarely() ? 7 : 0);
    const data = concatBytes(word(32), word(opaque.length), opaque, padding, new Uint8Array(this.#rarely() ? 32 : 0));
    const address = () => concatBytes(this.#rarely() ? this.#bytes(12) : new Uint8Array(12), this.#bytes(20));
    const version = this.#rarely() ? word(this.#wide()) : word(0);
    const topics = this.#topics([TRANSACTION_DEPOSITED_TOPIC, address(), address(), version]);
    return { topics, data: this.#rarely() ? this.#broken(data) : data };
  }

  #topics(topics: readonly Uint8Array[]): readonly Uint8Array[] {
    if (!this.#rarely()) return topics;
    return this.#coin() ? topics.slice(0, 1 + this.#random(topics.length)) : [...topics, this.#bytes(32)].slice(0, 4);
  }

  /** Two of three times with up to three faults: a bit, a byte of meaning in RLP, an end, a byte more or less. */
  #broken(bytes: Uint8Array): Uint8Array {
    let broken: Uint8Array = bytes.slice();
    for (let left = this.#random(3) === 0 ? 0 : 1 + this.#random(3); left > 0 && broken.length > 0; left--) {
      const at = this.#random(broken.length);
      const before = broken.subarray(0, at);
      switch (this.#random(5)) {
        case 0:
          broken[at]! ^= 1 << this.#random(8);
          break;
        case 1:
          broken[at] = this.pick([0, 1, 0x7f, 0x80, 0xb7, 0xb8, 0xc0, 0xf7, 0xf8, 0xff]);
          break;
        case 2:
          broken = before.slice();
          break;
        case 3:
          broken = concatBytes(before, this.#bytes(1), broken.subarray(at));
          break;
        default:
          broken = concatBytes(before, broken.subarray(at + 1));
      }
    }
    return broken;
  }

  readonly #byte = (): number => this.#random(256);
  readonly #coin = (): boolean => this.#random(2) === 0;
  readonly #rarely = (): boolean => this.#random(16) === 0;
  readonly #uint = (): bigint => (this.#coin() ? BigInt(this.#random(1_000)) : this.pick(EDGES));
  readonly #wide = (): bigint => (this.#coin() ? BigInt(this.#random(1_000_000)) : this.pick(WIDE_EDGES));
  #bytes(length: number): Uint8Array {
    return Uint8Array.from(times(length, this.#byte));
  }
  #sized(length: number): Uint8Array {
    return this.#bytes(this.#rarely() ? this.#random(40) : length);
  }
}

function uvarint(value: bigint | number): Uint8Array {
  const bytes: number[] = [];
  let left = BigInt(value);
  for (; left > 127n; left >>= 7n) bytes.push(Number(left & 127n) | 128);
  return Uint8Array.from([...bytes, Number(left)]);
}

/** Bit i has the weight 2^i. */
function bitlist(bits: readonly boolean[]): Uint8Array {
  const value = bits.reduce((sum, isSet, i) => sum + (isSet ? 1n << BigInt(i) : 0n), 0n);
  return bigintToBytes(value, Math.ceil(bits.length / 8));
}
