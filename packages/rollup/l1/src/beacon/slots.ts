import type { L1BlockRef } from "@rnode/protocol";
import { L1Error } from "../l1-error.ts";
import type { BeaconSpec } from "./beacon-answers.ts";
import type { BlobsEra } from "./beacon-endpoint.ts";

/** The beacon chain's calendar. Spec: docs/protocol/05-services.md#beacon-api */
export class Slots {
  readonly #genesisTimeSec: number;
  readonly #spec: BeaconSpec;

  constructor(genesisTimeSec: number, spec: BeaconSpec) {
    this.#genesisTimeSec = genesisTimeSec;
    this.#spec = spec;
  }

  /** @throws {L1Error} l1/unavailable: the block is older than the beacon chain, which is therefore another one's */
  slotOf({ number, timestamp }: L1BlockRef): number {
    const sinceGenesisSec = timestamp - this.#genesisTimeSec;
    if (sinceGenesisSec < 0) {
      const reason = `L1 block ${number} (time ${timestamp}) is older than the beacon chain's genesis (${this.#genesisTimeSec}): --l1.beacon is of another chain than --l1`;
      throw new L1Error("l1/unavailable", { what: "slot", reason });
    }
    return Math.floor(sinceGenesisSec / this.#spec.slotSec);
  }

  eraOf(slot: number): BlobsEra {
    const { fuluEpoch, slotsPerEpoch } = this.#spec;
    return fuluEpoch !== undefined && slot >= fuluEpoch * slotsPerEpoch ? "since-fulu" : "before-fulu";
  }

  /** Nodes keep blobs for this time; archivers keep them longer. */
  get retentionSec(): number {
    const { blobRetentionEpochs, slotsPerEpoch, slotSec } = this.#spec;
    return blobRetentionEpochs * slotsPerEpoch * slotSec;
  }
}
