import { RpcError } from "@rnode/jsonrpc";
import type {
  BuildBlocksOutcome,
  ForkchoiceOutcome,
  ForkchoiceState,
  GetPayloadOutcome,
  NewPayloadOutcome,
} from "@rnode/node-clients";
import { bytesToHex, type Hex, isCodedError } from "@rnode/primitives";
import {
  EXECUTION_TOO_LONG,
  type ExecutionPayloadEnvelope,
  isDepositTransaction,
  type L2BlockRef,
  l2BlockRefFromPayload,
  type PayloadAttributes,
  type RollupConfig,
} from "@rnode/protocol";
import { attributesMismatch } from "../common/consolidation.ts";
import type { Heads } from "../common/heads.ts";
import { critical, PROGRESS, type Progress, reset, type Trouble, temporary } from "../common/progress.ts";

/** The part of the Engine API that the driver uses; `EngineClient` implements it. */
export interface DriverEngine {
  forkchoiceUpdated(state: ForkchoiceState, attributes?: PayloadAttributes): Promise<ForkchoiceOutcome>;
  getPayload(id: Hex, timestampSec: number): Promise<GetPayloadOutcome>;
  newPayload(envelope: ExecutionPayloadEnvelope): Promise<NewPayloadOutcome>;
  buildBlocks(state: ForkchoiceState, attributes: readonly PayloadAttributes[]): Promise<BuildBlocksOutcome>;
}

/** A payload that the engine is building. */
export interface BuildJob {
  readonly payloadId: Hex;
  readonly parent: L2BlockRef;
  readonly attributes: PayloadAttributes;
}

export interface SealedPayload {
  readonly envelope: ExecutionPayloadEnvelope;
  readonly ref: L2BlockRef;
}

/** The engine rejects these attributes or this payload for good. */
interface Invalid {
  readonly kind: "invalid";
  readonly reason: string;
}

export type BuildStart = { readonly kind: "started"; readonly job: BuildJob } | Invalid | Trouble;

export type Sealing =
  | ({ readonly kind: "sealed" } & SealedPayload)
  /** the engine no longer knows the job */
  | { readonly kind: "expired"; readonly reason: string }
  /** what the engine built cannot be a block of this chain */
  | { readonly kind: "malformed"; readonly reason: string };

export type Extension =
  | {
      readonly kind: "extended";
      /** new blocks of the engine's chain, each the child of the one before; fewer than were asked for if that took too long */
      readonly blocks: readonly SealedPayload[];
      /** why the engine rejects the attributes after those for good */
      readonly invalid: Invalid | undefined;
    }
  /** the engine can only build one block at a time */
  | { readonly kind: "unsupported" }
  | Trouble;

export type HandOver = { readonly kind: "inserted" | "syncing" } | Invalid | Extract<Trouble, { kind: "temporary" }>;

export type Insertion = { readonly kind: "inserted" } | Invalid | Trouble;

/**
 * Holds the heads of the chain, and is the only place from which the engine is told about them.
 * Spec: docs/protocol/02-derivation.md#heads-and-consolidation,
 * docs/protocol/02-derivation.md#processing-attributes-and-invalid-payloads
 *
 * In consensus-layer sync every block comes from us, parents first. An engine that answers SYNCING has therefore lost a block: it was
 * restarted without its last blocks, or rewound. Waiting would never end, so the heads are determined again from the blocks it has.
 */
export class EngineControl {
  /** how often the engine's head was taken back from a chain that L1 contradicts */
  detours = 0;
  private readonly engine: DriverEngine;
  private readonly config: RollupConfig;
  private labels: Heads | undefined;
  /** the fork choice that the engine has; undefined: not known */
  private sent: ForkchoiceState | undefined;
  /** the labels at that time */
  private told: Heads | undefined;

  constructor(engine: DriverEngine, config: RollupConfig) {
    this.engine = engine;
    this.config = config;
  }

  /** undefined before the first reset */
  get headsIfKnown(): Heads | undefined {
    return this.labels;
  }

  get heads(): Heads {
    if (this.labels === undefined) throw new Error("the heads are not known before the first reset");
    return this.labels;
  }

  /**
   * The heads as the engine knows them, for everybody outside: a node that is killed goes on from what its engine has, and what it
   * once said must still hold then.
   */
  get toldHeads(): Heads | undefined {
    return this.labels !== undefined && this.isForkchoiceSent ? this.labels : this.told;
  }

  /** Moves the labels; the engine is told by the next `sendForkchoice`. */
  setHeads(heads: Heads): void {
    this.labels = heads;
  }

  get isForkchoiceSent(): boolean {
    const { sent } = this;
    const state = this.forkchoiceState(this.heads.unsafe);
    return sent?.head === state.head && sent.safe === state.safe && sent.finalized === state.finalized;
  }

  /** Called on a reset: the engine is then told the labels even if they have not changed, because it may have been restarted in between. */
  forgetSentForkchoice(): void {
    this.sent = undefined;
  }

  /** The engine's head has left the chain that L1 says: it goes back to ours. */
  takeHeadBack(): Promise<Progress> {
    this.detours++;
    this.forgetSentForkchoice();
    return this.sendForkchoice();
  }

  /** Tells the engine the labels, unless they have not changed since the last time. */
  async sendForkchoice(): Promise<Progress> {
    if (this.isForkchoiceSent) return PROGRESS;
    const { unsafe, finalized } = this.heads;
    if (unsafe.number < finalized.number) return this.unsafeBehindFinalized();
    const outcome = await this.update("forkchoice update", unsafe);
    switch (outcome.kind) {
      case "valid":
        return PROGRESS;
      case "syncing":
        return reset(`the engine does not know block ${unsafe.number}`);
      case "invalid":
        return reset(`the engine calls the head ${unsafe.number} invalid: ${outcome.reason}`);
      case "invalid-state":
        return reset(`the engine refuses the fork choice: ${outcome.reason}`);
      case "invalid-attributes":
      case "refused":
        return temporary(`the engine refuses the fork choice update: ${outcome.reason}`);
      default:
        return outcome;
    }
  }

  /** Makes `parent` the engine's head, and starts building a block on it. */
  async startBuild(parent: L2BlockRef, attributes: PayloadAttributes): Promise<BuildStart> {
    if (this.heads.unsafe.number < this.heads.finalized.number) return this.unsafeBehindFinalized();
    const outcome = await this.update("start of building", parent, attributes);
    switch (outcome.kind) {
      case "valid":
        if (outcome.payloadId === undefined) return temporary("the engine gave no payload id");
        return { kind: "started", job: { payloadId: outcome.payloadId, parent, attributes } };
      case "syncing":
        return reset(`the engine does not know block ${parent.number}`);
      case "invalid":
      case "invalid-attributes":
        return { kind: "invalid", reason: outcome.reason };
      case "invalid-state":
      case "refused":
        return reset(`the engine refuses to build on block ${parent.number}: ${outcome.reason}`);
      default:
        return outcome;
    }
  }

  /** Retrieves the block that was built. Any failure counts as expired, after which the same attributes are built again. */
  async seal(job: BuildJob): Promise<Sealing> {
    const outcome = await this.call("sealing", () => this.engine.getPayload(job.payloadId, job.attributes.timestamp));
    if (outcome.kind === "payload") return this.checkSealed(outcome.envelope, job);
    return { kind: "expired", reason: outcome.reason };
  }

  /** Makes `parent` the engine's head, and has the engine build blocks on it, one on another. Moving the labels is up to the caller. */
  async extend(parent: L2BlockRef, attributes: readonly PayloadAttributes[]): Promise<Extension> {
    if (this.heads.unsafe.number < this.heads.finalized.number) return this.unsafeBehindFinalized();
    const state = this.forkchoiceState(parent);
    const before = this.sent;
    this.sent = undefined;
    const outcome = await this.call("building", () => this.engine.buildBlocks(state, attributes));
    switch (outcome.kind) {
      case "unsupported":
        this.sent = before;
        return outcome;
      case "syncing":
        return reset(`the engine does not know block ${parent.number}`);
      case "invalid":
        return reset(`the engine calls block ${parent.number} invalid: ${outcome.reason}`);
      case "invalid-state":
      case "refused":
        return reset(`the engine refuses to build on block ${parent.number}: ${outcome.reason}`);
      case "built":
        return this.checkBuilt(parent, attributes, outcome);
      default:
        return outcome;
    }
  }

  private checkBuilt(
    parent: L2BlockRef,
    attributes: readonly PayloadAttributes[],
    { blocks, refusal }: Extract<BuildBlocksOutcome, { kind: "built" }>,
  ): Extension {
    let tip = parent;
    const sealed: SealedPayload[] = [];
    for (const [index, envelope] of blocks.entries()) {
      const mismatch = attributesMismatch(this.config, attributes[index]!, tip, { header: envelope.header, envelope });
      if (mismatch !== undefined) {
        return reset(`the engine built block ${tip.number + 1} with another ${mismatch} than it was told`);
      }
      tip = l2BlockRefFromPayload(this.config, envelope.executionPayload);
      sealed.push({ envelope, ref: tip });
    }
    this.sent = this.forkchoiceState(tip);
    this.told = { ...this.heads, unsafe: tip };
    return { kind: "extended", blocks: sealed, invalid: refusal === undefined ? undefined : { kind: "invalid", reason: refusal } };
  }

  /** Makes the engine execute the payload. Moving the labels is up to the caller. */
  async insert(envelope: ExecutionPayloadEnvelope): Promise<Insertion> {
    const outcome = await this.call("insertion", () => this.engine.newPayload(envelope));
    switch (outcome.kind) {
      case "valid":
        return { kind: "inserted" };
      case "syncing":
        return reset("the engine does not know the parent of the payload");
      default:
        return outcome;
    }
  }

  /**
   * Gives the engine a payload whose parents it lacks and makes it the engine's head, so that the engine fetches the parents from its own
   * peers. Repeat while the answer is `syncing`: the engine keeps its head until it has them. Moving the labels is up to the caller.
   */
  async handOver(envelope: ExecutionPayloadEnvelope, ref: L2BlockRef): Promise<HandOver> {
    const inserted = await this.call("insertion", () => this.engine.newPayload(envelope));
    if (inserted.kind === "invalid" || inserted.kind === "temporary") return inserted;
    return handOverOf(await this.update("fork choice update", ref));
  }

  /**
   * Makes a block the engine's head; the engine fetches it from its own peers if it lacks it. If the block does not descend from our safe block, the
   * engine's safe block becomes the finalized one. Moving the labels is up to the caller, also where the engine refuses the block.
   */
  async nameHead(ref: L2BlockRef): Promise<HandOver> {
    const { safe, finalized } = this.heads;
    let outcome = await this.update("fork choice update", ref);
    if (outcome.kind === "invalid-state" && safe.hash !== finalized.hash) {
      outcome = await this.update("fork choice update", ref, undefined, finalized);
    }
    // some engines have moved their head before they refuse the labels
    if (outcome.kind === "invalid-state") this.forgetSentForkchoice();
    return handOverOf(outcome);
  }

  /** While the safe chain is derived again, the safe label is above the block that is built on: no engine accepts that. */
  private forkchoiceState(head: L2BlockRef, safe = this.heads.safe): ForkchoiceState {
    const { finalized } = this.heads;
    return { head: head.hash, safe: head.number < safe.number ? head.hash : safe.hash, finalized: finalized.hash };
  }

  /** Whatever the outcome, `sent` is what the engine has afterwards. It keeps the fork choice when it refuses only the attributes. */
  private async update(what: string, head: L2BlockRef, attributes?: PayloadAttributes, safe?: L2BlockRef) {
    const state = this.forkchoiceState(head, safe);
    const told = { ...this.heads, unsafe: head };
    const before = this.sent;
    this.sent = undefined;
    const outcome = await this.call(what, () => this.engine.forkchoiceUpdated(state, attributes));
    if (outcome.kind === "valid" || outcome.kind === "invalid-attributes") {
      this.sent = state;
      this.told = told;
    } else if (outcome.kind !== "temporary") this.sent = before;
    return outcome;
  }

  private unsafeBehindFinalized(): Trouble {
    const { unsafe, finalized } = this.heads;
    return critical(`the unsafe head ${unsafe.number} is behind the finalized head ${finalized.number}`);
  }

  private checkSealed(envelope: ExecutionPayloadEnvelope, job: BuildJob): Sealing {
    const { executionPayload } = envelope;
    const malformed = (reason: string): Sealing => ({ kind: "malformed", reason });
    const { transactions } = executionPayload;
    if (transactions.length === 0) return malformed("no transactions");
    if (transactions.some((transaction) => transaction.length === 0)) return malformed("an empty transaction");
    if (!isDepositTransaction(transactions[0]!)) return malformed("the first transaction is not a deposit");
    const firstUser = transactions.findIndex((transaction) => !isDepositTransaction(transaction));
    if (firstUser >= 0 && transactions.slice(firstUser).some(isDepositTransaction))
      return malformed("a deposit after a user transaction");
    if (bytesToHex(executionPayload.parentHash) !== job.parent.hash) return malformed("another parent than asked for");
    try {
      return { kind: "sealed", envelope, ref: l2BlockRefFromPayload(this.config, executionPayload) };
    } catch (error) {
      if (!isCodedError(error)) throw error;
      return malformed(error.message);
    }
  }

  /** A failure of the call itself is temporary, because the engine may be restarting. */
  private async call<T>(what: string, call: () => Promise<T>): Promise<T | Extract<Trouble, { kind: "temporary" }>> {
    try {
      return await call();
    } catch (error) {
      if (!isCodedError(error, "engine/")) throw error;
      const hasTimedOut = isCodedError(error.cause, "rpc/timeout") || saysTooLong(error.cause);
      return { kind: "temporary", reason: `${what}: ${error.message}`, ...(hasTimedOut && { hasTimedOut }) };
    }
  }
}

function handOverOf(outcome: ForkchoiceOutcome | Extract<Trouble, { kind: "temporary" }>): HandOver {
  switch (outcome.kind) {
    case "valid":
      return { kind: "inserted" };
    case "syncing":
    case "temporary":
      return outcome;
    default:
      return { kind: "invalid", reason: outcome.reason };
  }
}

/** Whether the engine itself stopped an execution after its time limit. */
const saysTooLong = (error: unknown): boolean =>
  error instanceof RpcError && (error.data as { readonly err?: unknown } | null | undefined)?.err === EXECUTION_TOO_LONG;
