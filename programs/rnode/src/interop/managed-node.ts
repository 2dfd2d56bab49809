import type { DerivationPipeline, L1Provider } from "@rnode/derivation";
import { INVALID_PARAMS, RpcError, SERVER_ERROR, toRpcError, withRpcErrors } from "@rnode/jsonrpc";
import type { L2Block } from "@rnode/node-clients";
import type { Logger, MetricFactory } from "@rnode/observe";
import { bytesToHex, type Hex } from "@rnode/primitives";
import {
  type BlockId,
  type L1BlockRef,
  type L2BlockRef,
  replacedOutput,
  replacementAttributes,
  rollupRulesAt,
} from "@rnode/protocol";
import type { FoundHeads } from "../common/found-heads.ts";
import type { Heads } from "../common/heads.ts";
import type { Trouble } from "../common/progress.ts";
import type { DerivationRunner } from "../derive/derivation-runner.ts";
import type { Driver } from "../driver.ts";
import type { EngineControl } from "../engine/engine-control.ts";
import { lastOfCanonicalOrigin } from "../safe/safe-start.ts";
import { BLOCK_NOT_FOUND, BlockReads, type BlockReadsDeps, CONFLICTING_BLOCK } from "./block-reads.ts";
import { withCrossUnsafe } from "./cross-heads.ts";
import { EventStream } from "./event-stream.ts";
import { createInteropMetrics, type InteropMetrics } from "./interop-metrics.ts";
import { L1Grants } from "./l1-grants.ts";
import { type BlockRef, type EventKind, type ManagedEvent, toBlockRef } from "./managed-event.ts";
import type { ManagedApi, ManagedCommands, ResetTargets } from "./managed-methods.ts";

export interface ManagedNodeDeps extends BlockReadsDeps {
  readonly l2: BlockReadsDeps["l2"] & { blockByLabel(label: "latest"): Promise<L2Block | undefined> };
  readonly isAhead: (block: L2BlockRef) => boolean;
  readonly log: Logger;
  readonly metrics: MetricFactory;
}

/** The parts of the node that a supervisor's commands reach. */
export interface ManagedParts {
  readonly control: Pick<EngineControl, "heads" | "headsIfKnown" | "setHeads" | "startBuild" | "seal" | "insert">;
  readonly driver: Pick<Driver, "run" | "startFrom" | "requestReset" | "wake">;
  readonly derivation: Pick<DerivationRunner, "onL1Change">;
  /** the records of safe heads above a block are void. @returns what went wrong; undefined: nothing */
  readonly forgetAbove: (found: Extract<FoundHeads, { kind: "found" }>) => Promise<Trouble | undefined>;
  /** a block became cross-safe */
  readonly onCrossSafe: (safe: L2BlockRef, source: L1BlockRef) => void;
}

const refuse = (reason: string): RpcError => new RpcError(SERVER_ERROR, reason);
const conflicting = (reason: string, data?: unknown): RpcError => new RpcError(CONFLICTING_BLOCK, reason, data);

/**
 * A node under a supervisor: derivation reads the L1 blocks that it provides, derived blocks are local-safe until it says that they are
 * safe, and it has blocks replaced whose messages are invalid. Nothing that it says is believed which the node's own engine and L1 do not
 * have; and without it everything but those labels goes on.
 *
 * Spec: docs/protocol/05-services.md#interop, docs/protocol/02-derivation.md#interop-derivation
 */
export class ManagedNode implements ManagedCommands {
  readonly events: EventStream;
  private readonly deps: ManagedNodeDeps;
  private readonly grants: L1Grants;
  private readonly reads: BlockReads;
  private readonly metrics: InteropMetrics;
  /** derived blocks of a batch that is not complete yet */
  private pending: { readonly block: L2BlockRef; readonly source: L1BlockRef }[] = [];
  private isLookingAtL1 = false;
  private parts: ManagedParts | undefined;

  constructor(deps: ManagedNodeDeps) {
    this.deps = deps;
    this.metrics = createInteropMetrics(deps.metrics, () => this.events.isSubscribed);
    this.events = new EventStream(() => this.metrics.droppedEvents.inc());
    this.reads = new BlockReads(deps);
    this.grants = new L1Grants({
      isAhead: deps.isAhead,
      onOrigin: (source, derived) => {
        if (!this.isSupervised(derived)) return;
        const pair = { source: toBlockRef(source), derived: toBlockRef(derived) };
        this.send({ derivationUpdate: pair, derivationOriginUpdate: pair.source });
      },
      onExhausted: (source, derived) => this.send({ exhaustL1: { source: toBlockRef(source), derived: toBlockRef(derived) } }),
    });
  }

  get api(): ManagedApi {
    return { reads: this.reads, events: this.events, commands: this };
  }

  /** Whether a supervisor decides about a block. */
  readonly isSupervised = ({ timestamp }: Pick<L2BlockRef, "timestamp">): boolean =>
    rollupRulesAt(this.deps.config.forkTimes, timestamp).hasExecutingMessages;

  /** L1 as far as it was provided. */
  guardL1(l1: L1Provider): L1Provider {
    return this.grants.guard(l1);
  }

  watchPipeline(pipeline: DerivationPipeline): DerivationPipeline {
    return this.grants.watch(pipeline);
  }

  /** Connects the parts that are made after this one. */
  attach(parts: ManagedParts): void {
    this.parts = parts;
  }

  // What happens in the node

  /** The labels change. @returns them, with the cross-unsafe head */
  readonly onHeads = (before: Heads | undefined, after: Heads): Heads => {
    const complete = withCrossUnsafe(after, this.isSupervised);
    const { unsafe } = complete;
    if (unsafe.hash !== before?.unsafe.hash && this.isSupervised(unsafe)) this.send({ unsafeBlock: toBlockRef(unsafe) });
    return complete;
  };

  /** A block was derived; those of a span batch count once its last block is there. */
  onDerived(block: L2BlockRef, source: L1BlockRef, isLastInSpan: boolean): void {
    if (!this.isSupervised(block)) return;
    this.pending.push({ block, source });
    if (!isLastInSpan) return;
    const { pending } = this;
    this.pending = [];
    for (const { block: derived, source: of } of pending) {
      this.send({ derivationUpdate: { source: toBlockRef(of), derived: toBlockRef(derived) } });
    }
  }

  onReset(reason: string): void {
    this.pending = [];
    this.send({ reset: reason });
  }

  // What the supervisor asks for

  onSubscribed(): void {
    const { control, derivation, driver } = this.parted;
    const unsafe = control.headsIfKnown?.unsafe;
    if (unsafe !== undefined && this.isSupervised(unsafe)) this.send({ unsafeBlock: toBlockRef(unsafe) });
    derivation.onL1Change(); // says again which L1 block it needs
    driver.wake();
  }

  updateCrossUnsafe(block: BlockId): Promise<void> {
    return this.command("updateCrossUnsafe", async (heads) => {
      const ref = await this.canonical(block, "cross-unsafe");
      assertUpTo(ref, "cross-unsafe", heads.unsafe, "local-unsafe");
      if (ref.number > (heads.crossUnsafe?.number ?? -1)) this.parted.control.setHeads({ ...heads, crossUnsafe: ref });
    });
  }

  async updateCrossSafe(derived: BlockId, source: BlockId): Promise<void> {
    const l1Block = await this.l1Block(source); // L1 can be slow, and the driver does not wait for it
    return this.command("updateCrossSafe", async (heads) => {
      const ref = await this.canonical(derived, "cross-safe");
      assertUpTo(ref, "cross-safe", heads.localSafe, "local-safe");
      if (ref.number <= heads.safe.number) return;
      this.parted.control.setHeads({ ...heads, safe: ref });
      this.parted.onCrossSafe(ref, l1Block);
    });
  }

  updateFinalized(block: BlockId): Promise<void> {
    return this.command("updateFinalized", async (heads) => {
      const ref = await this.canonical(block, "finalized");
      assertUpTo(ref, "finalized", heads.safe, "cross-safe");
      if (ref.number > heads.finalized.number) this.parted.control.setHeads({ ...heads, finalized: ref });
    });
  }

  /** No command of the driver: derivation goes on by itself, and L1 can be slow. */
  async provideL1(block: BlockRef): Promise<void> {
    await this.counted("provideL1", async () => {
      const { driver, derivation } = this.parted;
      const { origin } = this.grants;
      if (origin === undefined) throw refuse("derivation has not started yet: try again");
      if (block.number !== origin.number + 1) {
        this.deps.log.debug("another L1 block was provided than derivation needs", {
          provided: block.number,
          origin: origin.number,
        });
        derivation.onL1Change(); // says again which one that is
        driver.wake();
        return;
      }
      if (block.parentHash !== origin.hash) {
        const reason = `the supervisor's L1 block ${block.number} has the parent ${block.parentHash}, derivation is at ${origin.hash}`;
        driver.requestReset(reason);
        throw conflicting(reason);
      }
      if (this.isLookingAtL1) throw refuse("another L1 block is being looked at");
      this.isLookingAtL1 = true;
      try {
        const own = await withRpcErrors(() => this.deps.l1.blockByNumber(block.number));
        if (own !== undefined && own.hash !== block.hash) {
          throw conflicting(`our L1 has block ${own.hash} at height ${block.number}, not ${block.hash}`, toBlockRef(own));
        }
      } finally {
        this.isLookingAtL1 = false;
      }
      this.grants.grant(block);
      derivation.onL1Change();
      driver.wake();
    });
  }

  resetPreInterop(): void {
    this.metrics.commands.inc({ command: "resetPreInterop" });
    this.parted.driver.requestReset("asked for by the supervisor");
  }

  reset(targets: ResetTargets): Promise<void> {
    return this.serial("reset", async () => {
      const [target, crossUnsafe, localSafe, safe, finalized] = await Promise.all([
        this.canonical(targets.localUnsafe, "unsafe"),
        this.canonical(targets.crossUnsafe, "cross-unsafe"),
        this.canonical(targets.localSafe, "safe"),
        this.canonical(targets.crossSafe, "cross-safe"),
        this.canonical(targets.finalized, "finalized"),
      ]);
      const order = [finalized, safe, localSafe, target].map(({ number }) => number);
      if (order.some((number, index) => number < (order[index - 1] ?? 0)) || crossUnsafe.number < safe.number) {
        throw new RpcError(
          INVALID_PARAMS,
          "the heads to reset to are out of order: finalized, cross-safe, local-safe, local-unsafe",
        );
      }
      if (crossUnsafe.number > target.number) throw new RpcError(INVALID_PARAMS, "cross-unsafe is above local-unsafe");
      const ownFinalized = this.parted.control.headsIfKnown?.finalized;
      if (ownFinalized !== undefined && safe.number < ownFinalized.number) {
        throw conflicting(
          `cross-safe ${safe.number} is below block ${ownFinalized.number}, which is final`,
          toBlockRef(ownFinalized),
        );
      }
      const latest = (await withRpcErrors(() => this.deps.l2.blockByLabel("latest")))?.ref ?? target;
      const head = latest.number > target.number ? latest : target;
      const unsafe = await withRpcErrors(() => lastOfCanonicalOrigin(localSafe, head, { l1: this.deps.l1, l2: this.refs }));
      const isFinalHigher = ownFinalized !== undefined && ownFinalized.number > finalized.number;
      this.deps.log.info("the supervisor resets the heads", {
        unsafe: unsafe.number,
        localSafe: localSafe.number,
        safe: safe.number,
      });
      await this.start({
        unsafe,
        crossUnsafe: crossUnsafe.number <= unsafe.number ? crossUnsafe : safe,
        localSafe,
        safe,
        finalized: isFinalHigher ? ownFinalized : finalized,
        highestFormerSafe: safe,
        base: localSafe,
      });
    });
  }

  invalidateBlock(block: BlockId & { readonly timestamp: number }): Promise<void> {
    return this.command("invalidateBlock", async (heads) => {
      const current = await this.reads.blockByNumber(block.number);
      if (current.ref.hash !== block.hash) {
        const replaced = replacedOutput(current.envelope.executionPayload.transactions);
        if (replaced === undefined || bytesToHex(replaced.blockHash) !== block.hash) {
          throw conflicting(`block ${block.number} is ${current.ref.hash}, not ${block.hash}`, toBlockRef(current.ref));
        }
        this.sendReplaced(current.ref, block.hash); // it was asked for before
        return;
      }
      if (!this.isSupervised(current.ref)) throw refuse(`block ${block.number} is from before messages were executed`);
      assertUpTo(current.ref, "the block to invalidate", heads.localSafe, "local-safe");
      if (block.number <= heads.safe.number) {
        throw conflicting(`block ${block.number} is not above the cross-safe head ${heads.safe.number}, and cannot become invalid`);
      }
      const parent = (await this.reads.blockByNumber(block.number - 1)).ref;
      this.deps.log.warn("a block has an invalid message: building it again with its deposits only", {
        number: block.number,
        hash: block.hash,
      });
      const replacement = await this.buildReplacement(parent, current);
      this.metrics.replacedBlocks.inc();
      await this.start({
        unsafe: replacement,
        crossUnsafe: replacement,
        localSafe: replacement,
        safe: replacement,
        finalized: heads.finalized,
        highestFormerSafe: replacement,
        base: replacement,
      });
      this.sendReplaced(replacement, block.hash);
    });
  }

  private async buildReplacement(parent: L2BlockRef, replaced: L2Block): Promise<L2BlockRef> {
    const { control } = this.parted;
    const failed = (what: string, { reason }: { readonly reason: string }): RpcError =>
      refuse(`block ${replaced.ref.number} could not be replaced: ${what}: ${reason}`);
    const started = await control.startBuild(parent, replacementAttributes(this.deps.config, replaced.envelope));
    if (started.kind !== "started") throw failed("building", started);
    const sealed = await control.seal(started.job);
    if (sealed.kind !== "sealed") throw failed("sealing", sealed);
    const inserted = await control.insert(sealed.envelope);
    if (inserted.kind !== "inserted") throw failed("inserting", inserted);
    return sealed.ref;
  }

  private sendReplaced(replacement: L2BlockRef, invalidated: Hex): void {
    this.send({ replaceBlock: { replacement: toBlockRef(replacement), invalidated } });
  }

  private async start(heads: Omit<Extract<FoundHeads, { kind: "found" }>, "kind">): Promise<void> {
    const found = { kind: "found", ...heads } as const;
    const trouble = (await this.parted.forgetAbove({ ...found, base: found.safe })) ?? (await this.parted.driver.startFrom(found));
    if (trouble !== undefined) {
      this.parted.driver.requestReset(trouble.reason);
      throw refuse(`the heads could not be taken: ${trouble.reason}`);
    }
    this.pending = [];
  }

  /** Runs between two turns of the driver, once the heads are known. */
  private command(name: keyof ManagedCommands, action: (heads: Heads) => Promise<void>): Promise<void> {
    return this.serial(name, async () => {
      const heads = this.parted.control.headsIfKnown;
      if (heads === undefined) throw refuse("the node is finding its heads: try again");
      await action(heads);
      this.parted.driver.wake();
    });
  }

  private serial(name: keyof ManagedCommands, action: () => Promise<void>): Promise<void> {
    return this.counted(name, () => this.parted.driver.run(action));
  }

  private async counted(command: keyof ManagedCommands, action: () => Promise<void>): Promise<void> {
    this.metrics.commands.inc({ command });
    try {
      await action();
    } catch (error) {
      this.metrics.refusedCommands.inc({ command });
      const refusal = toRpcError(error);
      if (refusal instanceof RpcError)
        this.deps.log.debug("a command of the supervisor is refused", { command, reason: refusal.message });
      throw refusal;
    }
  }

  /** The block that a supervisor names, if it is in our chain. @throws {RpcError} */
  private async canonical({ hash, number }: BlockId, name: string): Promise<L2BlockRef> {
    const block = await withRpcErrors(() => this.deps.l2.blockByNumber(number));
    if (block === undefined) throw new RpcError(BLOCK_NOT_FOUND, `${name} block ${number} not found`);
    if (block.ref.hash !== hash) {
      throw conflicting(`${name} block ${number} is ${block.ref.hash} in our chain, not ${hash}`, toBlockRef(block.ref));
    }
    return block.ref;
  }

  private async l1Block({ hash, number }: BlockId): Promise<L1BlockRef> {
    const block = await withRpcErrors(() => this.deps.l1.blockByHash(hash));
    if (block?.number !== number) throw new RpcError(BLOCK_NOT_FOUND, `L1 block ${hash} at height ${number} not found`);
    return toBlockRef(block);
  }

  private send(event: ManagedEvent): void {
    for (const kind of Object.keys(event) as EventKind[]) this.metrics.events.inc({ kind });
    this.events.send(event);
  }

  private readonly refs = {
    blockRefByNumber: async (number: number): Promise<L2BlockRef | undefined> => (await this.deps.l2.blockByNumber(number))?.ref,
  };

  private get parted(): ManagedParts {
    if (this.parts === undefined) throw new Error("the managed node is not attached to its parts");
    return this.parts;
  }
}

function assertUpTo(block: L2BlockRef, what: string, limit: L2BlockRef, label: string): void {
  if (block.number > limit.number) throw conflicting(`${what}: block ${block.number} is above the ${label} head ${limit.number}`);
}
