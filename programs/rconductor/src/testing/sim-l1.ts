import { bytesToHex } from "@rnode/primitives";
import type { ExecutionPayloadEnvelope } from "@rnode/protocol";
import { l1InfoOfPayload } from "@rnode/protocol";
import type { BlockName } from "../cluster/records.ts";
import { sampleOrigin } from "./sample-payload.ts";

interface Reorganisation {
  readonly atMs: number;
  /** the first L1 block that it replaced */
  readonly from: number;
}

/** L1 as the blocks of `samplePayload` name it: some of its blocks are replaced from time to time. */
export class SimL1 {
  readonly #reorganisations: Reorganisation[] = [];

  /** @param from the first L1 block that is replaced */
  reorganise(from: number, nowMs: number): void {
    this.#reorganisations.push({ atMs: nowMs, from });
  }

  /** The L1 block to which an L2 block of this number belongs, as it was known at that time. */
  originOf(number: number, atMs: number): ReturnType<typeof sampleOrigin> {
    const { number: l1Number } = sampleOrigin(number);
    return sampleOrigin(number, this.#branchOf(l1Number, atMs));
  }

  hasReplaced({ number, hash }: BlockName, atMs: number): boolean {
    return bytesToHex(sampleOrigin(6 * number, this.#branchOf(number, atMs)).hash) !== hash;
  }

  hasReplacedOriginOf({ executionPayload }: ExecutionPayloadEnvelope, atMs: number): boolean {
    if (executionPayload.blockNumber === 0) return false;
    const { number, blockHash } = l1InfoOfPayload(executionPayload);
    return this.hasReplaced({ number, hash: bytesToHex(blockHash) }, atMs);
  }

  #branchOf(l1Number: number, atMs: number): string {
    const last = this.#reorganisations.findLastIndex(({ atMs: since, from }) => since <= atMs && from <= l1Number);
    return last < 0 ? "" : `reorganised ${last}`;
  }
}
