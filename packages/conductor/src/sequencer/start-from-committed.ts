import type { Logger } from "@rnode/observe";
import type { Clock } from "@rnode/primitives";
import type { ExecutionPayloadEnvelope } from "@rnode/protocol";
import type { HeadRecord } from "../cluster/records.ts";
import { ConductorError } from "../conductor-error.ts";
import type { BlockName, SequencerNode } from "./sequencer-api.ts";

export interface StartFromDeps {
  readonly latest: () => Promise<{ readonly record: HeadRecord; readonly envelope: ExecutionPayloadEnvelope } | undefined>;
  readonly node: Pick<SequencerNode, "unsafeHead" | "start" | "post">;
  readonly clock: Clock;
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
 * Starts the sequencer on top of exactly the last committed block, which is posted to the node if its unsafe head is behind it: the
 * former leader may have died before it gossiped that block.
 *
 * @throws {ConductorError} conductor/cannot-start; what the node or etcd answered
 */
export async function startFromCommitted(
  { mayBootstrap, postedLimitMs }: StartFromOptions,
  deps: StartFromDeps,
): Promise<BlockName> {
  const { latest, node, clock, log, isLeader } = deps;
  const cannot = (reason: string): ConductorError => new ConductorError("conductor/cannot-start", { reason });
  const committed = await latest();
  if (committed === undefined) {
    if (!mayBootstrap) throw cannot("etcd has no committed block, and only a conductor with --bootstrap may begin without one");
    const head = await node.unsafeHead();
    log.info("etcd has no committed block: beginning at the node's own unsafe head", { number: head.number, hash: head.hash });
    await node.start(head.hash);
    return head;
  }
  const { record, envelope } = committed;
  const wanted: BlockName = { number: record.number, hash: record.hash };
  const endMs = clock.nowMs() + postedLimitMs;
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
    const nowMs = clock.nowMs();
    if (nowMs >= endMs) {
      throw cannot(
        `the node's unsafe head is ${head.number}, and the last committed block ${wanted.number} ${wanted.hash} does not become it`,
      );
    }
    if (nowMs - postedAtMs >= REPOST_MS) {
      log.info("posting the last committed block to the node", { number: wanted.number, hash: wanted.hash, head: head.number });
      await node.post(envelope);
      postedAtMs = nowMs;
    }
    await clock.sleep(POLL_MS);
  }
  await node.start(wanted.hash);
  return wanted;
}
