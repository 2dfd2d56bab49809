import type { Logger } from "@rnode/observe";
import type { Clock } from "@rnode/primitives";
import type { ExecutionPayloadEnvelope } from "@rnode/protocol";
import { DEFAULT_COMMIT_OPTIONS, type Latest } from "../cluster/commit-store.ts";
import type { BlockName, HeadRecord, PayloadRecord } from "../cluster/records.ts";
import { ConductorError } from "../conductor-error.ts";
import { isForeign, replaceForeign } from "./committed-chain.ts";
import type { SequencerNode } from "./sequencer-api.ts";

export interface StartFromDeps {
  readonly latest: () => Promise<Latest | undefined>;
  /** makes an earlier block the last committed one: see `CommitStore.rewind` */
  readonly rewind: (from: HeadRecord, to: PayloadRecord) => Promise<boolean>;
  readonly node: Pick<SequencerNode, "unsafeHead" | "start" | "post" | "replaceHead" | "hashOf" | "payloadAt" | "hasL1Replaced">;
  /** makes a block the last committed one */
  readonly commit: (envelope: ExecutionPayloadEnvelope) => Promise<void>;
  readonly clock: Clock;
  /** time that never jumps */
  readonly monotonicMs: () => number;
  readonly log: Logger;
  /** whether this member is still leader; otherwise the start is aborted */
  readonly isLeader: () => boolean;
}

export interface StartFromOptions {
  /** the cluster may begin at this node's unsafe head, if etcd has no committed block */
  readonly mayBootstrap: boolean;
  /** how long the node may take to have the last committed block */
  readonly postedLimitMs: number;
  /** how long L1 must keep lacking the L1 origins of committed blocks, as this node sees it, before they are taken back */
  readonly l1ReorgWaitMs: number;
  /** an uncommitted head that has not changed for so long is committed */
  readonly standstillMs: number;
}

const POLL_MS = 100;
/** Maximum number of uncommitted blocks on the node that the conductor commits. Beyond it, an operator must choose the chain. */
const MAX_ADOPTED_BLOCKS = DEFAULT_COMMIT_OPTIONS.keptBlocks;
const REPOST_MS = 2_000;

/**
 * Starts the sequencer on exactly the last committed block. If the node's unsafe head is behind it, the block and its missing
 * predecessors are posted to the node: the former leader may have failed, or lost its peers, before it gossiped them. Blocks of
 * another signer at the same heights are replaced. Blocks on top of the committed one may have reached users (a sequencer ran
 * without a conductor, or etcd was restored from a backup); they are committed once the chain has not grown for `standstillMs`.
 * If an L1 reorg has replaced the L1 origins of committed blocks, and the node has dropped these blocks, the commits are undone
 * first. L1 must report the reorg for some time, because this node's L1 endpoint may be the one that is behind.
 *
 * @throws {ConductorError} conductor/cannot-start; the errors of the node and of etcd
 */
export async function startFromCommitted(
  { mayBootstrap, postedLimitMs, l1ReorgWaitMs, standstillMs }: StartFromOptions,
  deps: StartFromDeps,
): Promise<BlockName> {
  const { latest, rewind, commit, node, clock, monotonicMs, log, isLeader } = deps;
  const cannot = (reason: string): ConductorError => new ConductorError("conductor/cannot-start", { reason });
  let committed = await latest();
  if (committed === undefined) {
    if (!mayBootstrap) throw cannot("etcd has no committed block, and only a conductor with --bootstrap may begin without one");
    const head = await node.unsafeHead();
    log.info("etcd has no committed block: beginning at the node's own unsafe head", { number: head.number, hash: head.hash });
    await node.start(head.hash);
    return head;
  }
  let endMs = monotonicMs() + postedLimitMs;
  /** the block that would be the last one, and since when */
  let doubt: { readonly hash: string; readonly sinceMs: number } | undefined;
  /** the head beyond the last committed block, and since when */
  let moving: { readonly hash: string; readonly sinceMs: number } | undefined;
  let postedAtMs = Number.NEGATIVE_INFINITY;
  for (;;) {
    const head = await node.unsafeHead();
    if (!isLeader()) throw cannot("it leads no more");
    const { record, envelope, after }: Latest = committed;
    const wanted: BlockName = { number: record.number, hash: record.hash };
    if (head.hash === wanted.hash) {
      await node.start(wanted.hash);
      return wanted;
    }
    const kept = head.number <= wanted.number ? await lastOnL1(record, node) : record;
    if (kept === undefined) {
      throw cannot(
        `L1 has replaced the L1 origins of the last committed block ${wanted.number} ${wanted.hash} and of all before it that are kept: once the node has another unsafe head, conductor_forgetUnsafePayload lets a conductor with --bootstrap begin there`,
      );
    }
    if (kept !== record && head.number <= kept.number) {
      if (doubt?.hash !== kept.hash) {
        doubt = { hash: kept.hash, sinceMs: monotonicMs() };
        const blocks = { from: wanted.number, to: kept.number, waitMs: l1ReorgWaitMs };
        log.warn("L1 lacks the L1 origins of committed blocks: they are taken back if it stays so", blocks);
      }
      if (monotonicMs() - doubt.sinceMs < l1ReorgWaitMs) {
        if (monotonicMs() >= endMs + l1ReorgWaitMs) throw cannot("L1 keeps changing");
        await clock.sleep(POLL_MS);
        continue;
      }
      log.warn("L1 was reorganised: taking back committed blocks whose L1 origin is gone", {
        from: wanted.number,
        to: kept.number,
      });
      if (!(await rewind(record, kept))) throw cannot("the last committed block has changed meanwhile");
      committed = (await latest()) ?? committed;
      endMs = monotonicMs() + postedLimitMs;
      continue;
    }
    doubt = undefined;
    const nowMs = monotonicMs();
    if (kept === record && nowMs < endMs && (await isForeign(head, record, node))) {
      const blocks = { number: head.number, hash: head.hash, committed: wanted.number, committedHash: wanted.hash };
      log.warn("the node has unsafe blocks in the place of committed ones, which replace them", blocks);
      if (!(await replaceForeign(head, committed, node)))
        throw cannot(
          `the node's chain, with the unsafe head ${head.number} ${head.hash}, has none of the ${record.recent.length + 1} newest committed blocks up to ${wanted.number} ${wanted.hash}`,
        );
      await clock.sleep(POLL_MS);
      continue;
    }
    const beyond = head.number - wanted.number;
    if (beyond > 0) {
      const text = `the node's unsafe head ${head.number} ${head.hash} is beyond the last committed block ${wanted.number} ${wanted.hash}`;
      if (beyond > MAX_ADOPTED_BLOCKS)
        throw cannot(
          `${text} by more than ${MAX_ADOPTED_BLOCKS} blocks: conductor_forgetUnsafePayload lets a conductor with --bootstrap begin there`,
        );
      if (nowMs >= endMs + standstillMs)
        throw cannot(`${text}, and moves on: another sequencer releases blocks that are not committed`);
      if (moving?.hash !== head.hash) moving = { hash: head.hash, sinceMs: nowMs };
      if (nowMs - moving.sinceMs < standstillMs) {
        await clock.sleep(POLL_MS);
        continue;
      }
      log.warn("committing unsafe blocks of the node that nobody has committed: others may have them", {
        from: wanted.number + 1,
        to: head.number,
        hash: head.hash,
      });
      for (let number = wanted.number + 1; number <= head.number; number++) {
        const payload = await node.payloadAt(number);
        if (payload === undefined) throw cannot(`the node has no block ${number} any more`);
        await commit(payload);
      }
      committed = (await latest()) ?? committed;
      continue;
    }
    if (nowMs >= endMs) {
      throw cannot(
        `the node's unsafe head is ${head.number}, and the last committed block ${wanted.number} ${wanted.hash} does not become it`,
      );
    }
    if (nowMs - postedAtMs >= REPOST_MS) {
      log.info("posting the last committed block to the node", { number: wanted.number, hash: wanted.hash, head: head.number });
      // What etcd no longer has, the node gets from its peers, or from L1.
      for (const before of (await after(head.number)) ?? []) await node.post(before);
      await node.post(envelope);
      postedAtMs = nowMs;
    }
    await clock.sleep(POLL_MS);
  }
}

/**
 * The last committed block whose L1 origin is still canonical, as far as the node can tell; undefined: none of the stored ones.
 */
async function lastOnL1(record: HeadRecord, node: Pick<SequencerNode, "hasL1Replaced">): Promise<PayloadRecord | undefined> {
  let replaced: string | undefined;
  for (const block of [record, ...record.recent.toReversed()]) {
    if (block.l1Origin.hash === replaced) continue;
    if ((await node.hasL1Replaced(block.l1Origin)) !== true) return block;
    replaced = block.l1Origin.hash;
  }
  return undefined;
}
