import { bytesToHex, CodedError, type Hex } from "@rnode/primitives";
import {
  type ExecutionPayloadEnvelope,
  type L2BlockRef,
  l2BlockRefFromPayload,
  type PayloadAttributes,
  type RollupConfig,
} from "@rnode/protocol";
import type { BuildJob, EngineControl } from "../engine/engine-control.ts";

export interface TestSequencerDeps {
  readonly config: RollupConfig;
  readonly control: Pick<
    EngineControl,
    "headsIfKnown" | "heads" | "startBuild" | "seal" | "insert" | "setHeads" | "sendForkchoice"
  >;
  readonly l2: { blockRefByHash(hash: Hex): Promise<L2BlockRef | undefined> };
  /** Runs between two turns of the driver, so that nothing else moves the heads meanwhile. */
  readonly run: <T>(task: () => Promise<T>) => Promise<T>;
  /** undefined: P2P is off */
  readonly publish: ((envelope: ExecutionPayloadEnvelope, signature: Uint8Array) => Promise<void>) | undefined;
}

/** A block that is being built, as callers name it. */
export interface PayloadInfo {
  readonly id: Hex;
  readonly timestamp: number;
}

/** Why something was not done, in words for the caller. */
class TestSequencerError extends CodedError<"opstack/refused"> {
  constructor(reason: string) {
    super("opstack/refused", { reason }, { sentence: "{reason}" });
  }
}

/** Maximum number of open builds; the oldest is dropped. */
const MAX_JOBS = 16;

/**
 * Lets a test build blocks step by step: on any block of the engine, and with any attributes. Such a block is not a head before
 * it is committed. As in op-node (op-node/node/api.go, op-node/rollup/engine/api.go).
 */
export class TestSequencer {
  private readonly deps: TestSequencerDeps;
  private readonly jobs = new Map<Hex, BuildJob>();

  constructor(deps: TestSequencerDeps) {
    this.deps = deps;
  }

  /** Starts building on `parent`. @throws {TestSequencerError} */
  open(parent: { readonly hash: Hex; readonly number: number }, attributes: PayloadAttributes): Promise<PayloadInfo> {
    return this.deps.run(async () => {
      this.assertReady();
      const ref = await this.deps.l2.blockRefByHash(parent.hash);
      if (ref?.number !== parent.number) {
        throw new TestSequencerError(`failed to retrieve parent block ${parent.hash}:${parent.number}: not found`);
      }
      const started = await this.deps.control.startBuild(ref, attributes);
      if (started.kind !== "started") throw new TestSequencerError(`failed to start building: ${started.reason}`);
      const { job } = started;
      this.jobs.set(job.payloadId, job);
      const [oldest] = this.jobs.keys();
      if (this.jobs.size > MAX_JOBS) this.jobs.delete(oldest!);
      return { id: job.payloadId, timestamp: attributes.timestamp };
    });
  }

  /** Cancels a block that is being built. @throws {TestSequencerError} */
  async cancel(info: PayloadInfo): Promise<void> {
    await this.seal(info);
  }

  /** Ends building. The block is not part of the chain yet. @throws {TestSequencerError} */
  async seal({ id, timestamp }: PayloadInfo): Promise<ExecutionPayloadEnvelope> {
    const job = this.jobs.get(id);
    if (job?.attributes.timestamp !== timestamp) throw new TestSequencerError(`unknown payload ${id} of time ${timestamp}`);
    const sealed = await this.deps.control.seal(job);
    this.jobs.delete(id);
    if (sealed.kind !== "sealed") throw new TestSequencerError(`failed to seal: ${sealed.reason}`);
    return sealed.envelope;
  }

  /** Executes a block and makes it the unsafe head. @throws {TestSequencerError} */
  commit(envelope: ExecutionPayloadEnvelope): Promise<void> {
    return this.deps.run(async () => {
      this.assertReady();
      const { config, control } = this.deps;
      const ref = l2BlockRefFromPayload(config, envelope.executionPayload);
      const { safe } = control.heads;
      if (ref.number <= safe.number) {
        throw new TestSequencerError(`block ${ref.number} cannot replace a safe block: the safe head is ${safe.number}`);
      }
      const inserted = await control.insert(envelope);
      if (inserted.kind !== "inserted") throw new TestSequencerError(`failed to process block ${ref.hash}: ${inserted.reason}`);
      control.setHeads({ ...control.heads, unsafe: ref });
      const told = await control.sendForkchoice();
      if (told.kind !== "progress" && told.kind !== "idle") throw new TestSequencerError(`failed to set the head: ${told.reason}`);
    });
  }

  /** Hands a signed block to other nodes. @throws {TestSequencerError} */
  async publish(envelope: ExecutionPayloadEnvelope, signature: Uint8Array): Promise<void> {
    const { publish } = this.deps;
    if (publish === undefined) throw new TestSequencerError("cannot publish: there is no P2P network (--p2p.disable)");
    const { blockHash, blockNumber } = envelope.executionPayload;
    try {
      await publish(envelope, signature);
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      throw new TestSequencerError(`block ${bytesToHex(blockHash)}:${blockNumber} was not published: ${reason}`);
    }
  }

  private assertReady(): void {
    if (this.deps.control.headsIfKnown === undefined) throw new TestSequencerError("the heads are not known yet: try again");
  }
}
