import { type DaCommitment, daCommitmentKey } from "@rnode/protocol";
import type { DaInputs } from "../l1/providers.ts";

/** A DA server in memory, which loses data or fails on demand. */
export class MemoryDaInputs implements DaInputs {
  readonly stored = new Map<string, Uint8Array>();
  isDown = false;

  async get(commitment: DaCommitment): Promise<Uint8Array | undefined> {
    if (this.isDown) throw new Error("the DA server is away");
    return this.stored.get(daCommitmentKey(commitment));
  }

  put(commitment: DaCommitment, input: Uint8Array): void {
    this.stored.set(daCommitmentKey(commitment), input);
  }

  lose(commitment: DaCommitment): void {
    this.stored.delete(daCommitmentKey(commitment));
  }
}
