import type { Logger } from "@rnode/observe";
import type { Clock } from "@rnode/primitives";
import type { Latest } from "../cluster/commit-store.ts";
import { ConductorError } from "../conductor-error.ts";
import type { BlockName, SequencerNode } from "./sequencer-api.ts";

export interface StartFromDeps {
  readonly latest: () => Promise<Latest | undefined>;
  readonly node: Pick<SequencerNode, "unsafeHead" | "start" | "post">;
  readonly clock: Clock;
  /** time that never jumps */
  readonly monotonicMs: () => number;
  readonly log: Logger;
  /** whether it is still leader: if not, the start is given up */
  readonly isLeader: () => boolean;
}

export interface StartFromOptions {
  /** the cluster may begin at this node's unsafe head, if etcd has no committed block */
  readonly mayBootstrap: boolean;
  /** how long the node may take to have the last committed block */
  readonly postedLimitMs: number;
}

const POLL_MS = 100;
const REPOST_MS = 2_000;

/**
 * Starts the sequencer on top of exactly the last committed block, which is posted to the node if its unsafe head is behind it, with
 * those before it that are missing: the former leader may have died, or lost its peers, before it gossiped them.
 *
 * @throws {ConductorError} conductor/cannot-start; what the node or etcd answered
 */
export async function startFromCommitted(
  { mayBootstrap, postedLimitMs }: StartFromOptions,
  deps: StartFromDeps,
): Promise<BlockName> {
  const { latest, node, clock, monotonicMs, log, isLeader } = deps;
  const cannot = (reason: string): ConductorError => new ConductorError("conductor/cannot-start", { reason });
  const committed = await latest();
  if (committed === undefined) {
    if (!mayBootstrap) throw cannot("etcd has no committed block, and only a conductor with --bootstrap may begin without one");
    const head = await node.unsafeHead();
    log.info("etcd has no committed block: beginning at the node's own unsafe head", { number: head.number, hash: head.hash });
    await node.start(head.hash);
    return head;
  }
  const { record, envelope, after } = committed;
  const wanted: BlockName = { number: record.number, hash: record.hash };
  const endMs = monotonicMs() + postedLimitMs;
  let postedAtMs = Number.NEGATIVE_INFINITY;
  for (;;) {
    const head = await node.unsafeHead();
    if (!isLeader()) throw cannot("it leads no more");
    if (head.hash === wanted.hash) break;
    if (head.number > wanted.number) {
      throw cannot(
        `the node's unsafe head ${head.number} ${head.hash} is beyond the last committed block ${wanted.number} ${wanted.hash}: it has blocks that were never committed`,
      );
    }
    const nowMs = monotonicMs();
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
  await node.start(wanted.hash);
  return wanted;
}
