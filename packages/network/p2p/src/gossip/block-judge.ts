import type { Logger } from "@rnode/observe";
import type { Clock } from "@rnode/primitives";
import type { RollupConfig } from "@rnode/protocol";
import { ClockWatch } from "../clock-watch.ts";
import { blockTopics } from "../wire/topics.ts";
import { BlockSigners } from "./block-signers.ts";
import { BlockValidator, type BlockVerdict } from "./block-validator.ts";
import type { PeerBudgets } from "./peer-budgets.ts";
import { HEARTBEAT_MS } from "./router-options.ts";

export interface BlockJudgeOptions {
  readonly rollup: Pick<RollupConfig, "l2ChainId" | "forkTimes">;
  readonly timestampThresholdMs: number;
}

/** Validation of blocks on all topics: the rules, the valid signers, and whether the local clock can be trusted. */
export class BlockJudge {
  readonly signers: BlockSigners;
  readonly #validators: ReadonlyMap<string, BlockValidator>;
  readonly #clock: Pick<Clock, "unixMs" | "monotonicMs">;
  readonly #clockWatch: ClockWatch;
  readonly #log: Logger;

  constructor(
    { rollup: config, timestampThresholdMs }: BlockJudgeOptions,
    { clock, log }: { readonly clock: Pick<Clock, "unixMs" | "monotonicMs">; readonly log: Logger },
  ) {
    this.signers = new BlockSigners(clock);
    this.#validators = new Map(
      blockTopics(config.l2ChainId).map(({ topic, version }) => [
        topic,
        new BlockValidator({ config, version, timestampThresholdMs }),
      ]),
    );
    this.#clock = clock;
    this.#clockWatch = new ClockWatch(clock, HEARTBEAT_MS);
    this.#log = log;
  }

  /** Call it at each heartbeat. */
  sample(): void {
    this.#clockWatch.sample();
  }

  /** @param message decompressed */
  judge(topic: string, message: Uint8Array): BlockVerdict {
    this.#clockWatch.sample();
    return this.#judge(topic, message, this.#clock.unixMs());
  }

  /**
   * Validates a block of this node, except for its age, which receivers check: this node may be late, or its clock may be wrong,
   * and a refused block would be committed without reaching a peer.
   */
  judgeOwn(topic: string, message: Uint8Array): BlockVerdict {
    return this.#judge(topic, message, undefined);
  }

  #judge(topic: string, message: Uint8Array, nowMs: number | undefined): BlockVerdict {
    const context = { nowMs, signers: this.signers, isClockTrusted: this.#clockWatch.isTrusted };
    try {
      return this.#validators.get(topic)!.validate(message, context);
    } catch (error) {
      // required by the specification; it would be a bug of rnode
      this.#log.error("judging a block failed", { topic, error: (error as Error).message });
      return { kind: "reject", fault: "exception", detail: (error as Error).message };
    }
  }

  /** A block of a peer was accepted: its time agrees with the own clock. */
  confirm(): void {
    this.#clockWatch.confirm();
  }

  /** Charges a block that was not accepted to the peer's budget. @param readBytes of the decompressed message */
  charge(budgets: PeerBudgets, peer: string, verdict: Exclude<BlockVerdict, { kind: "accept" }>, readBytes: number): void {
    if (verdict.kind === "reject") budgets.chargeInvalid(peer, readBytes);
    else if (verdict.fault === "seen" || (verdict.fault !== "unknown-signer" && this.#clockWatch.isTrusted))
      budgets.chargeRedundant(peer, readBytes);
  }
}
