import type { L1BlockHeader } from "@rnode/derivation";
import { bytesToHex, type Hex, hexToFixedBytes } from "@rnode/primitives";
import { type Header, hashHeader, headerFromRpc } from "@rnode/protocol";
import { faultyAnswer, readAnswer } from "./l1-error.ts";

export interface ExpectedBlock {
  readonly hash?: Hex | undefined;
  readonly number?: number | undefined;
}

/**
 * A header that hashes to its hash. Only `check` creates one, so its holder need not ask where it came from.
 *
 * With `trust` (`--l1.trustrpc`) the hash is taken from the answer and not recomputed; everything else is checked.
 */
export class VerifiedHeader implements L1BlockHeader {
  /** in memory, roughly */
  readonly sizeBytes = 1_500;
  readonly hash: Hex;
  readonly number: number;
  readonly parentHash: Hex;
  readonly timestamp: number;
  readonly baseFeePerGas: bigint;
  readonly mixHash: Uint8Array;
  readonly parentBeaconBlockRoot: Uint8Array | undefined;
  readonly excessBlobGas: bigint | undefined;
  /** private to the class, so that no other object can pass for one */
  readonly #header: Header;

  private constructor(hash: Hex, header: Header) {
    this.hash = hash;
    this.#header = header;
    this.number = header.number;
    this.parentHash = bytesToHex(header.parentHash);
    this.timestamp = header.timestamp;
    this.baseFeePerGas = header.baseFeePerGas ?? 0n;
    this.mixHash = header.mixHash;
    this.parentBeaconBlockRoot = header.parentBeaconBlockRoot;
    this.excessBlobGas = header.excessBlobGas;
  }

  get header(): Header {
    return this.#header;
  }

  /**
   * Checks the header of a block object of `eth_getBlockBy…`.
   *
   * @throws {L1Error} l1/faulty-answer
   */
  static check(json: unknown, trust: boolean): VerifiedHeader {
    return readAnswer("block", () => {
      const header = headerFromRpc(json);
      const stated = statedHash(json);
      const hash = trust ? stated : bytesToHex(hashHeader(header));
      if (hash !== stated) throw faultyAnswer("block hash", { number: header.number, stated, computed: hash });
      return new VerifiedHeader(hash, header);
    });
  }

  /** @throws {L1Error} l1/faulty-answer if this is not the block that was asked for */
  assertIs(expected: ExpectedBlock): void {
    if (expected.hash !== undefined && this.hash !== expected.hash) {
      throw faultyAnswer("another block than asked for", { asked: expected.hash, got: this.hash });
    }
    if (expected.number !== undefined && this.number !== expected.number) {
      throw faultyAnswer("another block than asked for", { asked: expected.number, got: this.number });
    }
  }

  /**
   * Always true of two verified headers; for a trusted endpoint it is a check that costs nothing.
   *
   * @throws {L1Error} l1/faulty-answer
   */
  assertFollows(parent: VerifiedHeader): void {
    const follows = this.parentHash === parent.hash && this.number === parent.number + 1 && this.timestamp >= parent.timestamp;
    if (!follows) {
      throw faultyAnswer("block does not follow its parent", {
        number: this.number,
        timestamp: this.timestamp,
        parentNumber: parent.number,
        parentTimestamp: parent.timestamp,
      });
    }
  }
}

/** The hash that a block object claims to have. @throws {L1Error} l1/faulty-answer */
export function statedHash(json: unknown): Hex {
  return readAnswer("block hash", () => {
    const stated = (json as { readonly hash?: unknown } | null | undefined)?.hash;
    if (typeof stated !== "string") throw faultyAnswer("block without a hash");
    return bytesToHex(hexToFixedBytes(stated, 32));
  });
}
