import { type BlockMessages, checkBlocks, type SetRules } from "@rnode/interop";
import type { Logger } from "@rnode/observe";
import type { BlockId } from "@rnode/protocol";
import type { DeniedBlock } from "./denied-blocks.ts";
import { MessageIngest } from "./message-ingest.ts";
import { type LocalSafeBlock, numberAt, type SetChain } from "./set-chain.ts";
import type { SetDatabase } from "./set-database.ts";
import { firstMessages, nextBlockTime, setRules, startOfSet } from "./set-rules.ts";

export interface SetVerifierDeps {
  /** all chains of the set */
  readonly chains: readonly SetChain[];
  readonly expiryWindowSec: number;
  readonly database: SetDatabase;
  /** Whether our L1 has this block. @throws {CodedError} l1/* */
  readonly checkL1: (block: BlockId) => Promise<"canonical" | "replaced" | "missing">;
  readonly log: Logger;
}

/** An executed message in a verified block. */
export interface VerifiedMessage {
  readonly from: bigint;
  readonly fromBlock: number;
  readonly to: bigint;
  readonly toBlock: number;
  /** of its execution, in seconds */
  readonly timestamp: number;
}

export type Round =
  | { readonly kind: "verified"; readonly timestamp: number; readonly messages: readonly VerifiedMessage[] }
  | { readonly kind: "denied"; readonly chainIds: readonly bigint[] }
  | { readonly kind: "rewound"; readonly timestamp: number | undefined }
  /** `reason`: what for; `chainIds`: for blocks of these to be safe on L1 */
  | { readonly kind: "waiting"; readonly reason: string; readonly chainIds?: readonly bigint[] };

/** After so many rounds, messages that are too old to be executed are removed. */
const ROUNDS_BETWEEN_PRUNING = 600;
/** What a power cut takes back is verified again. */
const ROUNDS_A_FLUSH = 64;
/** PERF: a chain that is told asks its engine for a block, and sends it a fork choice. */
const ROUNDS_UNTOLD = 32;
const FLUSHED = { isFlushed: true };

/**
 * Verifies the chains of a dependency set together, one time after another: once L1 makes the blocks of all chains at a time safe, their messages are
 * checked. A block with an invalid message is denied, and its chain replaces it; then that time is looked at again. When L1 takes back the ground of
 * what was verified, it is verified again. Each decision is one commit, made before anybody acts on it. Spec:
 * docs/protocol/02-derivation.md#interop-derivation
 */
export class SetVerifier {
  /** of the first round, in seconds; before it, L1 alone decides what is safe */
  readonly startSec: number;
  private readonly deps: SetVerifierDeps;
  private readonly rules: SetRules;
  private readonly ingests: ReadonlyMap<bigint, MessageIngest>;
  /** the verdicts of the time that is not verified yet */
  private pending: DeniedBlock[];
  private sincePruning = 0;
  private sinceFlush = 0;
  /** rounds that the chains have not been told of */
  private untold = 0;

  constructor(deps: SetVerifierDeps) {
    const { chains, expiryWindowSec, database } = deps;
    this.deps = deps;
    this.rules = setRules(chains, expiryWindowSec);
    this.ingests = new Map(chains.map((chain) => [chain.chainId, new MessageIngest(chain, database)]));
    const verifiedSec = database.verified.last?.timestamp ?? Number.NEGATIVE_INFINITY;
    this.pending = [...database.denied.list()].filter(({ timestamp }) => timestamp > verifiedSec);
    this.startSec = startOfSet(chains.map(({ config }) => config));
  }

  /** Does what can be done next. @throws {CodedError} engine/*, l1/*, safe-heads/*, storage/*, set-database/* */
  async round(): Promise<Round> {
    let round: Round | undefined;
    try {
      round = await this.next();
      return round;
    } finally {
      const isOnTheWay = round?.kind === "verified" && ++this.untold < ROUNDS_UNTOLD;
      if (!isOnTheWay && this.untold > 0) this.tell();
    }
  }

  private tell(): void {
    this.untold = 0;
    for (const chain of this.deps.chains) chain.onVerdict();
  }

  private async next(): Promise<Round> {
    const { chains, database, checkL1, log } = this.deps;
    if (!Number.isFinite(this.startSec)) return { kind: "waiting", reason: "a chain with Lagoon" };
    const { last } = database.verified;
    for (const { l1 } of last === undefined ? this.pending : [last, ...this.pending]) {
      const ground = await checkL1(l1);
      if (ground === "replaced") return this.rewind();
      if (ground === "missing") return waitingForL1(l1);
    }
    const configs = chains.map(({ config }) => config);
    const timestamp = last === undefined ? this.startSec : nextBlockTime(configs, last.timestamp);
    const tips = new Map<SetChain, LocalSafeBlock>();
    const waiting: bigint[] = [];
    await Promise.all(
      chains.map(async (chain) => {
        const found = await this.localSafeAt(chain, timestamp);
        if (found === undefined) waiting.push(chain.chainId);
        else tips.set(chain, found);
      }),
    );
    if (waiting.length > 0)
      return { kind: "waiting", reason: `chain ${waiting.join(", ")} up to time ${timestamp}`, chainIds: waiting };
    const l1 = [...tips.values()].map(({ derivedFrom }) => derivedFrom).reduce((a, b) => (b.number > a.number ? b : a));
    for (const { derivedFrom } of tips.values()) {
      const verdict = await checkL1(derivedFrom);
      if (verdict !== "canonical") return { kind: "waiting", reason: `L1 block ${derivedFrom.number} is ${verdict}` };
    }
    for (const [chain, { block }] of tips) {
      const ingest = this.ingests.get(chain.chainId)!;
      if (!(await ingest.reach(block, firstMessages(this.rules, chain, timestamp)))) {
        return { kind: "waiting", reason: `chain ${chain.chainId} moves` };
      }
    }
    const blocks = new Map(
      [...tips].flatMap(([{ chainId }, { block }]) =>
        block.timestamp === timestamp ? [[chainId, this.ingests.get(chainId)!.log.at(block.number)!] as const] : [],
      ),
    );
    const verdict = checkBlocks(this.rules, timestamp, blocks, (message) => this.ingests.get(message.chainId)!.log.lookup(message));
    if (verdict.kind === "unknown") {
      return {
        kind: "waiting",
        reason: `the messages of chain ${verdict.chainId} at block ${verdict.blockNumber}, which are not in the log`,
      };
    }
    if (verdict.invalid.size > 0) return this.deny({ timestamp, l1: idOf(l1) }, tips, verdict.invalid);
    const heads = new Map([...tips].map(([{ chainId }, { block }]) => [chainId, idOf(block)]));
    const isFlushed = ++this.sinceFlush >= ROUNDS_A_FLUSH;
    if (isFlushed) this.sinceFlush = 0;
    database.atomically(() => database.verified.append({ timestamp, l1: idOf(l1), heads }), { isFlushed });
    this.pending = [];
    log.debug("messages of the set verified", { timestamp, l1Block: l1.number });
    this.prune(timestamp);
    return { kind: "verified", timestamp, messages: messagesOf(blocks) };
  }

  private async localSafeAt(chain: SetChain, timestamp: number): Promise<LocalSafeBlock | undefined> {
    const { database } = this.deps;
    const found = await chain.localSafe(numberAt(chain.config, timestamp));
    if (found === undefined) return undefined;
    const { number, hash } = found.block;
    // The chain has not acted yet on a verdict, or on its end.
    const isOutdated = number > (database.rederivedAfter(chain.chainId) ?? Number.POSITIVE_INFINITY);
    return isOutdated || database.denied.has(chain.chainId, number, hash) ? undefined : found;
  }

  private async deny(
    { timestamp, l1 }: Pick<DeniedBlock, "timestamp" | "l1">,
    tips: ReadonlyMap<SetChain, LocalSafeBlock>,
    invalid: ReadonlyMap<bigint, string>,
  ): Promise<Round> {
    const { database, log } = this.deps;
    const chains = [...tips].filter(([{ chainId }]) => invalid.has(chainId));
    const denied = await Promise.all(
      chains.map(async ([chain, { block }]): Promise<DeniedBlock> => {
        const { chainId } = chain;
        const reason = invalid.get(chainId)!;
        return { chainId, block: idOf(block), timestamp, l1, reason, ...(await chain.outputOf(block)) };
      }),
    );
    database.atomically(() => {
      for (const one of denied) database.denied.add(one);
    }, FLUSHED);
    this.pending.push(...denied);
    for (const { chainId, block, reason } of denied) {
      log.warn("block with an invalid message: its deposits-only form replaces it", { chain: String(chainId), ...block, reason });
    }
    for (const [chain] of chains) chain.onVerdict();
    return { kind: "denied", chainIds: denied.map(({ chainId }) => chainId) };
  }

  /** L1 has taken back what the last rounds or verdicts rest on. */
  private async rewind(): Promise<Round> {
    const { database, checkL1, log } = this.deps;
    let kept = database.verified.last;
    while (kept !== undefined) {
      const ground = await checkL1(kept.l1);
      if (ground === "missing") return waitingForL1(kept.l1);
      if (ground === "canonical") break;
      kept = database.verified.derivedUpTo(kept.l1.number - 1);
    }
    const timestamp = kept?.timestamp;
    const after = timestamp ?? this.startSec - 1;
    const undone = database.atomically(() => {
      database.verified.rewind(after);
      const removed = database.denied.rewind(after);
      for (const { chainId, block } of removed) {
        const known = database.rederivedAfter(chainId) ?? Number.POSITIVE_INFINITY;
        database.setRederivedAfter(chainId, Math.min(known, block.number - 1));
      }
      return removed;
    }, FLUSHED);
    this.pending = [];
    log.warn("L1 was reorganised: messages of the set are verified again", { after, verdictsUndone: undone.length });
    this.tell();
    return { kind: "rewound", timestamp };
  }

  private prune(timestamp: number): void {
    if (++this.sincePruning < ROUNDS_BETWEEN_PRUNING) return;
    this.sincePruning = 0;
    const { chains, database } = this.deps;
    database.atomically(() => {
      for (const chain of chains) this.ingests.get(chain.chainId)!.log.prune(firstMessages(this.rules, chain, timestamp));
    }, FLUSHED);
  }
}

const waitingForL1 = ({ number }: BlockId): Round => ({
  kind: "waiting",
  reason: `L1 block ${number}, which the endpoint does not have`,
});

const idOf = ({ hash, number }: BlockId): BlockId => ({ hash, number });

const messagesOf = (blocks: ReadonlyMap<bigint, BlockMessages>): VerifiedMessage[] =>
  [...blocks].flatMap(([to, { block, executing }]) =>
    executing.map(({ chainId: from, blockNumber }) => ({
      from,
      fromBlock: Number(blockNumber),
      to,
      toBlock: block.number,
      timestamp: block.timestamp,
    })),
  );
