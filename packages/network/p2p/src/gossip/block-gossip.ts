import { createHash } from "node:crypto";
import { type GossipSub, type GossipSubComponents, type GossipsubOpts, gossipsub, TopicValidatorResult } from "@libp2p/gossipsub";
import type { RPC } from "@libp2p/gossipsub/message";
import type { Logger } from "@rnode/observe";
import { compressSnappyBlock } from "@rnode/peering";
import { bytesToHex, isCodedError } from "@rnode/primitives";
import type { ExecutionPayloadEnvelope, RollupConfig } from "@rnode/protocol";
import type { Equivocation } from "../equivocation.ts";
import type { Published } from "../network.ts";
import type { GossipPart, PartDeps, PayloadSink } from "../parts.ts";
import { encodeGossipMessage, MAX_MESSAGE_BYTES, messageId } from "../wire/gossip-message.ts";
import { type BlockTopic, blockTopics, publishingTopic } from "../wire/topics.ts";
import { BlockJudge } from "./block-judge.ts";
import { type BlockVerdict, openGossipMessage } from "./block-validator.ts";
import { Equivocations } from "./equivocations.ts";
import type { DropReason, GossipMetrics } from "./gossip-metrics.ts";
import { guardRouter, type MessageGate, withBoundedStreams } from "./guarded-router.ts";
import { PeerBudgets } from "./peer-budgets.ts";
import { MESH_PROTOCOLS, routerOptions } from "./router-options.ts";
import { Turns } from "./turns.ts";

export interface GossipOptions {
  readonly rollup: Pick<RollupConfig, "l2ChainId" | "forkTimes">;
  readonly timestampThresholdMs: number;
  /** as gossipsub takes them */
  readonly scoring: Pick<Partial<GossipsubOpts>, "scoreParams" | "scoreThresholds">;
}

export interface GossipDeps extends PartDeps {
  readonly sink: PayloadSink;
}

/** Messages of different peers that may wait, and for how long. Spec: docs/protocol/03-p2p.md#router-parameters */
const TURN_LIMITS = { maxWaiting: 512, maxWaitMs: 3000 };
/** Overhead of a message in an RPC. */
const ENVELOPE_BYTES = 256;

/** The mesh of the block topics. */
export const createGossip = (options: GossipOptions, deps: GossipDeps): GossipPart => new BlockGossip(options, deps);

/** The message that is being worked on: there is never more than one. */
interface Work {
  readonly peer: string;
  readonly startMs: number;
  /** decompressed; undefined until then */
  readBytes?: number;
  isJudged?: boolean;
}

class BlockGossip implements GossipPart, MessageGate {
  private readonly options: GossipOptions;
  private readonly log: Logger;
  private readonly sink: PayloadSink;
  private readonly metrics: GossipMetrics;
  private readonly topics: readonly BlockTopic[];
  private readonly judge: BlockJudge;
  private readonly turns: Turns;
  private readonly budgets: PeerBudgets;
  private router: GossipSub | undefined;
  private readonly twice = new Equivocations();
  private work: Work | undefined;
  private isClosed = false;

  constructor(options: GossipOptions, { clock, log, metrics, sink }: GossipDeps) {
    this.options = options;
    this.log = log;
    this.sink = sink;
    this.metrics = metrics.gossip;
    this.topics = blockTopics(options.rollup.l2ChainId);
    this.judge = new BlockJudge(options, { clock, log });
    this.turns = new Turns(TURN_LIMITS, () => performance.now());
    this.budgets = new PeerBudgets(() => performance.now());
  }

  readonly service = (components: GossipSubComponents): GossipSub => {
    const router = gossipsub({
      ...routerOptions(this.topics.map(({ topic }) => topic)),
      ...this.options.scoring,
      dataTransform: {
        inboundTransform: (_topic, data) => this.open(data),
        outboundTransform: (_topic, message) => this.outbound(message),
      },
      msgIdFn: ({ topic, data }) => messageId(topic, data),
      msgIdToStrFn: hexOf,
      fastMsgIdFn: compressedId,
    })(withBoundedStreams(components));
    router.protocols = [...MESH_PROTOCOLS];
    guardRouter(router, this);
    router.addEventListener("gossipsub:heartbeat", () => this.judge.sample());
    for (const { topic } of this.topics) {
      router.topicValidators.set(topic, (peer, message) => this.receive(peer.toString(), topic, message.data));
    }
    this.router = router;
    return router;
  };

  start(): void {
    for (const { topic } of this.topics) this.router?.subscribe(topic);
  }

  setUnsafeBlockSigner(address: Uint8Array): void {
    this.judge.signers.rotate(address);
    // blocks signed with the new key were invalid until now
    this.budgets.forgiveAll();
  }

  async publish(envelope: ExecutionPayloadEnvelope, signature: Uint8Array): Promise<Published> {
    const { router } = this;
    if (router === undefined || this.isClosed) return { kind: "refused", reason: "the network is not running" };
    const { l2ChainId, forkTimes } = this.options.rollup;
    const { topic, version } = publishingTopic(l2ChainId, forkTimes, envelope.executionPayload.timestamp);
    let message: Uint8Array;
    try {
      message = encodeGossipMessage(envelope, version, signature);
    } catch (error) {
      if (!isCodedError(error)) throw error;
      return { kind: "refused", reason: error.message };
    }
    const verdict = this.judge.judgeOwn(topic, message);
    if (verdict.kind !== "accept") {
      // published before: peers have it, and would ignore it
      if (verdict.fault === "seen") return { kind: "published", peers: 0 };
      // A thief of the key may have signed other blocks at its height, of which peers can have accepted fewer.
      if (verdict.fault !== "too-many-of-height") return { kind: "refused", reason: textOf(verdict) };
    }
    this.noteHeight(envelope, "self", message);
    if (this.outbound(message).length > MAX_MESSAGE_BYTES - ENVELOPE_BYTES) {
      return { kind: "refused", reason: `the block is larger than a message may be, ${MAX_MESSAGE_BYTES} bytes` };
    }
    const { recipients } = await router.publish(topic, message);
    return { kind: "published", peers: recipients.length };
  }

  close(): Promise<void> {
    this.isClosed = true;
    return Promise.resolve();
  }

  /** Queues the peer's message, and drops it unread if the queue is full. */
  async admit(peer: string, judge: () => Promise<void>): Promise<void> {
    if (this.isClosed) return;
    if (!this.budgets.isOpen(peer)) return this.drop(peer, "peer-over-budget");
    const turn = await this.turns.take(async () => {
      const work: Work = { peer, startMs: performance.now() };
      this.work = work;
      try {
        await judge();
      } finally {
        this.work = undefined;
        // it was opened and turned out to be known
        if (work.readBytes !== undefined && work.isJudged !== true) this.budgets.chargeRedundant(peer, work.readBytes);
      }
    });
    if (turn !== "go") this.drop(peer, turn === "full" ? "queue-full" : "waited-too-long");
  }

  private drop(peer: string, reason: DropReason): void {
    this.metrics.dropped.inc({ reason });
    this.log.debug("message of a peer dropped", { peer, reason });
  }

  /** @throws Error that the router treats as an invalid message */
  private open(compressed: Uint8Array): Uint8Array {
    const opened = openGossipMessage(compressed);
    if (opened instanceof Uint8Array) {
      if (this.work !== undefined) this.work.readBytes = opened.length;
      return opened;
    }
    this.note(this.work?.peer ?? "", opened, compressed.length);
    throw new Error(textOf(opened));
  }

  private receive(peer: string, topic: string, message: Uint8Array): TopicValidatorResult {
    const verdict = this.judge.judge(topic, message);
    this.note(peer, verdict, message.length);
    switch (verdict.kind) {
      case "accept":
        this.judge.confirm();
        this.noteHeight(verdict.envelope, peer, message);
        this.sink.accept(verdict.envelope, peer);
        return TopicValidatorResult.Accept;
      case "ignore":
        return TopicValidatorResult.Ignore;
      case "reject":
        return TopicValidatorResult.Reject;
    }
  }

  equivocations(): readonly Equivocation[] {
    return this.twice.list();
  }

  private noteHeight({ executionPayload }: ExecutionPayloadEnvelope, from: string, message: Uint8Array): void {
    const { blockNumber, blockHash } = executionPayload;
    const noted = this.twice.note(blockNumber, bytesToHex(blockHash), from, message);
    if (noted === undefined) return;
    this.metrics.equivocations.inc();
    if (noted === "further") return;
    const [first, second] = noted;
    this.log.warn(
      "the chain's signer signed two blocks of one height: its key may be stolen, or two sequencers run with it; see rnodep2p_listEquivocations",
      { number: blockNumber, first: first.hash, firstFrom: first.from, second: second.hash, secondFrom: second.from },
    );
  }

  private note(peer: string, verdict: BlockVerdict, readBytes: number): void {
    if (this.work !== undefined) {
      this.work.isJudged = true;
      this.metrics.validationSeconds.observe((performance.now() - this.work.startMs) / 1000);
    }
    if (verdict.kind === "accept") {
      this.metrics.blocks.inc({ verdict: "accept", fault: "" });
      return;
    }
    this.metrics.blocks.inc({ verdict: verdict.kind, fault: verdict.fault });
    this.log.debug("block of a peer not accepted", { peer, verdict: verdict.kind, reason: textOf(verdict) });
    this.judge.charge(this.budgets, peer, verdict, readBytes);
  }

  /** The sent form of a message, compressed once. */
  private outbound(message: Uint8Array): Uint8Array {
    let compressed = this.compressed.get(message);
    if (compressed === undefined) this.compressed.set(message, (compressed = compressSnappyBlock(message)));
    return compressed;
  }
  private readonly compressed = new WeakMap<Uint8Array, Uint8Array>();
}

const textOf = ({ fault, detail }: Extract<BlockVerdict, { readonly fault: unknown }>): string =>
  detail === "" ? fault : `${fault}: ${detail}`;

const hexOf = (bytes: Uint8Array): string => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("hex");

/**
 * An id of a message before decompression. It includes the topic, because a message that is invalid on one topic can be valid on
 * another.
 */
function compressedId({ topic, data }: RPC.Message): string {
  const hash = createHash("sha256").update(`${topic.length}:${topic}`);
  if (data !== undefined) hash.update(data);
  return hash.digest("base64");
}
