import type { L1BlockHeader } from "@rnode/derivation";
import { bytesToHex, type Hex, hexToFixedBytes, keccak256 } from "@rnode/primitives";
import { decodeHeaderPrefix, type Header, hashHeader, headerFromRpc } from "@rnode/protocol";
import { faultyAnswer, L1Error, readAnswer } from "../l1-error.ts";

export interface ExpectedBlock {
  readonly hash?: Hex | undefined;
  readonly number?: number | undefined;
}

/**
 * A header that matches its hash. Only `check` creates one, so holders need no further check.
 *
 * With `trust` (`--l1.trustrpc`) the hash is the endpoint's and not recomputed; everything else is checked.
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
  /** whether it has unknown fields: then the hash is not that of `header` */
  readonly hasUnknownFields: boolean;
  /** private to the class, so no other object has the type */
  readonly #header: Header;

  private constructor(hash: Hex, header: Header, hasUnknownFields: boolean) {
    this.hash = hash;
    this.hasUnknownFields = hasUnknownFields;
    this.#header = header;
    if (header.exact !== undefined) {
      const { number, timestamp } = header.exact;
      throw faultyAnswer("block number or timestamp above 2^53 - 1, which no L1 has that a rollup can follow", {
        hash,
        ...(number !== undefined && { number }),
        ...(timestamp !== undefined && { timestamp }),
      });
    }
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
      return new VerifiedHeader(hash, header, false);
    });
  }

  /**
   * Checks the RLP of a header with unknown fields, which JSON does not determine.
   *
   * @returns `undefined` without unknown fields, in which case its JSON suffices
   * @throws {L1Error} l1/faulty-answer
   */
  static fromRaw(encoded: Uint8Array, hash: Hex): VerifiedHeader | undefined {
    return readAnswer("raw header", () => {
      const computed = bytesToHex(keccak256(encoded));
      if (computed !== hash) throw faultyAnswer("hash of a raw header", { stated: hash, computed });
      const { header, hasMore } = decodeHeaderPrefix(encoded);
      return hasMore ? new VerifiedHeader(hash, header, true) : undefined;
    });
  }

  /** @throws {L1Error} l1/faulty-answer if this is not the requested block */
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

/** Known keys of block objects, in the hash or not. */
const BLOCK_KEYS: ReadonlySet<string> = new Set(
  (
    "hash parentHash sha3Uncles miner author stateRoot transactionsRoot receiptsRoot logsBloom difficulty totalDifficulty number gasLimit " +
    "gasUsed timestamp extraData mixHash nonce baseFeePerGas withdrawalsRoot blobGasUsed excessBlobGas parentBeaconBlockRoot requestsHash " +
    "blockAccessListHash slotNumber size uncles transactions withdrawals sealFields"
  ).split(" "),
);

/** The error for a header that does not match its hash, has unknown keys, and whose bytes are not available. */
export function rawHeaderNeeded(json: unknown, reason: string): L1Error | undefined {
  const unknown = Object.keys((json ?? {}) as object).filter((key) => !BLOCK_KEYS.has(key));
  if (unknown.length === 0) return undefined;
  const { number } = json as { readonly number?: unknown };
  return new L1Error("l1/raw-needed", {
    block: Number(number),
    what: `header fields that are not known (${unknown.slice(0, 4).join(", ").slice(0, 200)})`,
    reason,
    methods: "debug_getRawHeader or debug_getRawBlock",
  });
}
