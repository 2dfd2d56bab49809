import { PeerScore } from "@libp2p/gossipsub/score";

import type { Logger } from "@rnode/observe";
import { bytesToHex, type Clock } from "@rnode/primitives";
import type { ExecutionPayloadEnvelope, RollupConfig } from "@rnode/protocol";
import { BlockJudge } from "../gossip/block-judge.ts";
import { PeerBudgets } from "../gossip/peer-budgets.ts";
import { quietLogger } from "../host/quiet-logger.ts";
import { lightScoring, slotMs } from "../peers/score-params.ts";
import { encodeGossipMessage, messageId } from "../wire/gossip-message.ts";
import { blockTopics, publishingTopic } from "../wire/topics.ts";

/** A message on its topic, decompressed. */
export interface SimMessage {
  readonly topic: string;
  readonly id: string;
  readonly bytes: Uint8Array;
}

interface SimGossipDeps {
  /** of this node */
  readonly clock: Pick<Clock, "unixMs" | "monotonicMs">;
  readonly log: Logger;
  readonly accept: (envelope: ExecutionPayloadEnvelope) => void;
  /** sends a message to all other peers. @param from `undefined`: an own block */
  readonly pass: (message: SimMessage, from: string | undefined) => void;
}

const THRESHOLD_MS = 60_000;

/** A message of a block, as its signer sends it. */
export function simMessage(
  { l2ChainId, forkTimes }: Pick<RollupConfig, "l2ChainId" | "forkTimes">,
  envelope: ExecutionPayloadEnvelope,
  signature: Uint8Array,
): SimMessage {
  const { topic, version } = publishingTopic(l2ChainId, forkTimes, envelope.executionPayload.timestamp);
  const bytes = encodeGossipMessage(envelope, version, signature);
  return { topic, id: bytesToHex(messageId(topic, bytes)), bytes };
}

/**
 * Gossip of one simulated node: validation, budgets, score parameters and score counters are the node's own; only the router and
 * its links are simulated. Each message is validated once, and sent to all if it is accepted.
 */
export class SimGossip {
  readonly judge: BlockJudge;
  readonly #deps: SimGossipDeps;
  readonly #budgets: PeerBudgets;
  readonly #scores: PeerScore;
  readonly #seen = new Set<string>();

  constructor(rollup: Pick<RollupConfig, "l2ChainId" | "forkTimes" | "blockTimeSec">, signer: Uint8Array, deps: SimGossipDeps) {
    const { clock, log } = deps;
    this.#deps = deps;
    this.judge = new BlockJudge({ rollup, timestampThresholdMs: THRESHOLD_MS }, { clock, log });
    this.judge.signers.rotate(signer);
    this.#budgets = new PeerBudgets(() => clock.monotonicMs());
    const topics = blockTopics(rollup.l2ChainId).map(({ topic }) => topic);
    const scoring = lightScoring({
      slot: slotMs(rollup.blockTimeSec),
      topics,
      liveTopic: topics.at(-1)!,
      applicationScore: () => 0,
    });
    this.#scores = new PeerScore(scoring, null, quietLogger, { scoreCacheValidityMs: 0 });
  }

  connect(peer: string): void {
    this.#scores.addPeer(peer);
  }

  /** Call it each slot. */
  decay(): void {
    this.#scores.refreshScores();
  }

  scoreOf(peer: string): number {
    return this.#scores.score(peer);
  }

  /** whether its messages are read */
  isOpen(peer: string): boolean {
    return this.#budgets.isOpen(peer);
  }

  receive(from: string, message: SimMessage): void {
    const { topic, id, bytes } = message;
    if (this.#seen.has(id) || !this.#budgets.isOpen(from)) return;
    this.#seen.add(id);
    const verdict = this.judge.judge(topic, bytes);
    switch (verdict.kind) {
      case "accept":
        this.judge.confirm();
        this.#deps.accept(verdict.envelope);
        this.#deps.pass(message, from);
        return;
      case "ignore":
        this.judge.charge(this.#budgets, from, verdict, bytes.length);
        return;
      case "reject":
        this.judge.charge(this.#budgets, from, verdict, bytes.length);
        this.#deps.log.debug("block of a peer not accepted", { from, fault: verdict.fault, detail: verdict.detail });
        this.#scores.rejectInvalidMessage(from, topic);
    }
  }

  /** @returns why the own block cannot be published; `undefined` if it was published */
  publish(message: SimMessage): string | undefined {
    const verdict = this.judge.judgeOwn(message.topic, message.bytes);
    if (verdict.kind === "ignore" && verdict.fault === "seen") return undefined;
    if (verdict.kind !== "accept") return verdict.fault;
    this.#seen.add(message.id);
    this.#deps.pass(message, undefined);
    return undefined;
  }
}
