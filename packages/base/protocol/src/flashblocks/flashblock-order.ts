import { bytesToHex, concatBytes, type Hex, keccak256, uint64ToBytes } from "@rnode/primitives";
import type { Flashblock } from "./flashblock.ts";

/** Where a part belongs; only `first` and `next` continue a stream. */
export type FlashblockPlace =
  /** another block begins */
  | { readonly kind: "first" }
  | { readonly kind: "next" }
  /** known already, or of a block that ended; usual if there are several sources */
  | { readonly kind: "duplicate" }
  /** a part with this index came before, with other contents: the producer broke its word */
  | { readonly kind: "conflict" }
  /** parts before it are missing; another source may still have them */
  | { readonly kind: "gap"; readonly expected: number }
  /** the first part of its block was not received */
  | { readonly kind: "no-base" };

/** One block of the stream. */
interface Sequence {
  readonly payloadId: Hex;
  readonly blockNumber: number;
  readonly gasLimit: bigint;
  /** one for each part */
  readonly fingerprints: Hex[];
}

/** Blocks whose parts are recognised when a slower source repeats them. */
const KNOWN_SEQUENCES = 16;

/**
 * Puts the parts of one or several sources of the same stream in order. Spec: docs/protocol/07-flashblocks.md#order
 */
export class FlashblockOrder {
  /** oldest first */
  readonly #known: Sequence[] = [];
  /** undefined: parts are dropped until the next first part */
  #current: Sequence | undefined;

  take(part: Flashblock): FlashblockPlace {
    const { payloadId, index, base, blockNumber, diff } = part;
    const fingerprint = fingerprintOf(part);
    const known = this.#known.find((sequence) => sequence.payloadId === payloadId);
    if (known !== undefined && known !== this.#current) return { kind: "duplicate" }; // of a block that ended
    const before = known?.fingerprints[index];
    if (before !== undefined)
      return { kind: before === fingerprint && known?.blockNumber === blockNumber ? "duplicate" : "conflict" };
    if (base !== undefined) {
      const { gasLimit } = base;
      if (diff.gasUsed > gasLimit) return { kind: "conflict" };
      this.#current = { payloadId, blockNumber, gasLimit, fingerprints: [fingerprint] };
      this.#known.push(this.#current);
      if (this.#known.length > KNOWN_SEQUENCES) this.#known.shift();
      return { kind: "first" };
    }
    if (known === undefined) return { kind: "no-base" };
    const expected = known.fingerprints.length;
    if (index > expected) return { kind: "gap", expected };
    if (blockNumber !== known.blockNumber || diff.gasUsed > known.gasLimit) return { kind: "conflict" };
    known.fingerprints.push(fingerprint);
    return { kind: "next" };
  }

  /** Ignores the parts of the current block from now on. @param payloadId only if it is the current one; default: whatever it is */
  drop(payloadId = this.#current?.payloadId): void {
    if (this.#current?.payloadId === payloadId) this.#current = undefined;
  }
}

/** Of all that a part says about its block. */
function fingerprintOf({ diff, base }: Flashblock): Hex {
  const { receiptsRoot, logsBloom, gasUsed, blobGasUsed = 0n, transactions, postExecTx } = diff;
  const lengths = transactions.map(({ length }) => uint64ToBytes(length));
  const parts = [receiptsRoot, logsBloom, uint64ToBytes(gasUsed), uint64ToBytes(blobGasUsed), ...lengths, ...transactions];
  if (postExecTx !== undefined) parts.push(postExecTx);
  if (base !== undefined) parts.push(base.parentHash, uint64ToBytes(base.timestamp), base.prevRandao, base.extraData);
  return bytesToHex(keccak256(concatBytes(...parts)));
}
