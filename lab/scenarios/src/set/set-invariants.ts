import type { Hex } from "@rnode/primitives";
import type { BlockId, RollupConfig } from "@rnode/protocol";
import { numberAt, type VerifiedRound } from "@rnode/rnode";
import type { KnownBlocks, SimBlock } from "../sim-block.ts";
import type { SimL1 } from "../sim-l1.ts";
import type { SimLog } from "../sim-log.ts";
import type { SimNode } from "../sim-node.ts";
import { haveOrder, type ModelBlock, unmetMessage } from "./set-model.ts";
import type { SimSource } from "./sim-source.ts";

/** A rule that must hold whatever happens, and how it was broken. */
export interface SetViolation {
  readonly rule:
    | "unmet-message"
    | "unverified"
    | "agreement"
    | "safe-moved"
    | "finalized-moved"
    | "wrong-denial"
    | "lost-block"
    | "liveness"
    | "node-stopped"
    | "crash";
  readonly detail: string;
}

export interface SetInvariantsDeps {
  readonly l1: SimL1;
  readonly chains: readonly { readonly config: RollupConfig; readonly known: KnownBlocks; readonly sequenced: ReadonlySet<Hex> }[];
  /** of the first round, in seconds */
  readonly startSec: number;
  readonly expirySec: number;
  readonly onViolation: (rule: SetViolation["rule"], detail: string) => void;
  readonly log: SimLog;
}

/** What one node was seen to call safe, across its restarts. */
interface Seen {
  safe: Hex;
  readonly byNumber: Map<number, Hex>;
  finalized: BlockId | undefined;
}

const named = (chainId: bigint, { number, hash }: BlockId): string => `block ${number} ${hash.slice(0, 10)}… of chain ${chainId}`;

/** Watches what the sources verify and deny, and what all nodes call safe. */
export class SetInvariants {
  readonly #deps: SetInvariantsDeps;
  /** all blocks that were ever verified, with the newest L1 block that one of those verdicts rests on */
  readonly #verified = new Map<Hex, BlockId>();
  /** the newest round of each source */
  readonly #rounds = new Map<SimSource, VerifiedRound>();
  /** by time */
  readonly #agreed = new Map<number, { readonly round: VerifiedRound; readonly by: string }>();
  readonly #seen = new Map<SimNode, Seen>();
  readonly #denied = new Set<Hex>();

  constructor(deps: SetInvariantsDeps) {
    this.#deps = deps;
    for (const { config } of deps.chains) this.#verified.set(config.genesis.l2.hash, config.genesis.l1);
  }

  /** how many blocks were found invalid */
  get denials(): number {
    return this.#denied.size;
  }

  get rounds(): number {
    return this.#agreed.size;
  }

  /** A source has just made a decision. */
  onVerdict(source: SimSource): void {
    const { log } = this.#deps;
    for (const { block, chainId, reason } of source.database!.denied.list()) {
      if (this.#denied.has(block.hash)) continue;
      this.#denied.add(block.hash);
      log.note(source.name, `${named(chainId, block)} is denied: ${reason}`);
    }
    const round = source.lastRound;
    const before = this.#rounds.get(source);
    if (round === undefined || (round.timestamp === before?.timestamp && round.l1.hash === before.l1.hash)) return;
    this.#rounds.set(source, round);
    this.#checkExtends(source, round, before);
    this.#checkMessages(source, round);
    this.#checkAgreement(source, round);
    for (const [chainId, head] of round.heads) {
      for (const block of this.#ancestors(chainId, head.hash)) {
        if (this.#verified.get(block.ref.hash)?.hash === round.l1.hash) break;
        const isNew = !this.#verified.has(block.ref.hash);
        this.#verified.set(block.ref.hash, round.l1);
        if (!isNew) break;
      }
    }
  }

  /** Called after whatever could have changed something. */
  check(nodes: readonly SimNode[]): void {
    for (const node of nodes) {
      const { heads } = node;
      if (heads === undefined) continue;
      let seen = this.#seen.get(node);
      if (seen === undefined) this.#seen.set(node, (seen = { safe: "0x", byNumber: new Map(), finalized: undefined }));
      if (heads.safe.hash !== seen.safe) this.#checkSafe(node, seen, heads.safe.hash);
      if (heads.finalized.hash !== seen.finalized?.hash) this.#checkFinalized(node, seen, heads.finalized);
    }
  }

  /** In the end, all nodes of a chain have the same chain up to the lowest safe head. */
  checkSameChains(nodes: readonly SimNode[]): void {
    for (const { config } of this.#deps.chains) {
      const own = nodes.filter(({ name }) => name.startsWith(`${config.l2ChainId}-`));
      const common = Math.min(...own.map(({ heads }) => heads?.safe.number ?? 0));
      const hashes = new Set(own.map(({ engine }) => engine.canonicalRef(common)?.hash));
      if (hashes.size > 1) this.#deps.onViolation("agreement", `nodes of chain ${config.l2ChainId} differ at block ${common}`);
    }
  }

  /** In the end, the chains that a source verified meet no message of a block that it denied. */
  checkDenials(source: SimSource): void {
    const round = source.lastRound;
    if (round === undefined) return;
    for (const { chainId, block, timestamp, reason } of source.database!.denied.list()) {
      const denied = this.#block(chainId, block.hash);
      if (denied === undefined || timestamp > round.timestamp) continue;
      if (this.#at(round, chainId, block.number - 1)?.ref.hash !== denied.ref.parentHash) continue;
      if (unmetMessage(this.#modelOf(round), modelBlock(denied)) !== undefined) continue;
      // of a cycle, or of what one depends on
      if (reason.includes("cycle") && !haveOrder(this.#lookedAt(source, round, timestamp))) continue;
      const detail = `${source.name} denied ${named(chainId, block)} (${reason}), all of whose messages are met`;
      this.#deps.onViolation("wrong-denial", detail);
    }
  }

  /** Where nothing goes wrong, no block of a sequencer is denied or replaced. */
  checkNothingLost(source: SimSource): void {
    const round = source.lastRound;
    if (this.#denied.size > 0) this.#deps.onViolation("lost-block", `${this.#denied.size} blocks were denied`);
    for (const { config, sequenced } of this.#deps.chains) {
      const { l2ChainId: chainId } = config;
      const head = round?.heads.get(chainId);
      const blocks = head === undefined ? [] : [...this.#ancestors(chainId, head.hash)];
      const lost = blocks.find(({ ref }) => !sequenced.has(ref.hash));
      if (lost !== undefined) this.#deps.onViolation("lost-block", `${named(chainId, lost.ref)} is not the sequencer's`);
    }
  }

  #checkExtends(source: SimSource, round: VerifiedRound, before: VerifiedRound | undefined): void {
    if (before === undefined || round.timestamp <= before.timestamp) return;
    for (const [chainId, head] of before.heads) {
      if (this.#at(round, chainId, head.number)?.ref.hash === head.hash || head.number === 0) continue;
      const detail = `${source.name} verified ${named(chainId, head)} at ${before.timestamp}, and at ${round.timestamp} another branch`;
      this.#deps.onViolation("agreement", detail);
    }
  }

  #checkMessages(source: SimSource, round: VerifiedRound): void {
    const now = new Map<bigint, ModelBlock>();
    for (const [chainId, { hash }] of round.heads) {
      const block = this.#block(chainId, hash);
      if (block?.ref.timestamp === round.timestamp) now.set(chainId, modelBlock(block));
    }
    const model = this.#modelOf(round);
    for (const [chainId, block] of now) {
      const why = unmetMessage(model, block);
      if (why !== undefined)
        this.#deps.onViolation("unmet-message", `${source.name} verified block ${block.number} of chain ${chainId}: ${why}`);
    }
    if (!haveOrder(now)) this.#deps.onViolation("unmet-message", `${source.name} verified a cycle at ${round.timestamp}`);
  }

  /** Of the same L1, all sources make the same. */
  #checkAgreement({ name }: SimSource, round: VerifiedRound): void {
    const { l1, onViolation } = this.#deps;
    const other = this.#agreed.get(round.timestamp);
    this.#agreed.set(round.timestamp, { round, by: name });
    if (other === undefined || !l1.isCanonical(other.round.l1) || !l1.isCanonical(round.l1)) return;
    for (const [chainId, head] of round.heads) {
      const known = other.round.heads.get(chainId)!;
      if (known.hash === head.hash) continue;
      onViolation("agreement", `${name} verified ${named(chainId, head)}, ${other.by} ${named(chainId, known)}, from the same L1`);
    }
  }

  #checkSafe(node: SimNode, seen: Seen, safe: Hex): void {
    const { l1, startSec, onViolation, chains } = this.#deps;
    const { l2ChainId: chainId, blockTimeSec } = chains.find(({ config }) => node.name.startsWith(`${config.l2ChainId}-`))!.config;
    seen.safe = safe;
    for (const { ref } of this.#ancestors(chainId, safe)) {
      const known = seen.byNumber.get(ref.number);
      if (known === ref.hash) break;
      const ground = known === undefined ? undefined : this.#verified.get(known);
      if (ground !== undefined && l1.isCanonical(ground))
        onViolation(
          "safe-moved",
          `${node.name} calls ${named(chainId, ref)} safe, ${known} was, and L1 still has ${ground.number}`,
        );
      seen.byNumber.set(ref.number, ref.hash);
      if (ref.timestamp - blockTimeSec < startSec || this.#verified.has(ref.hash)) continue;
      onViolation("unverified", `${node.name} calls ${named(chainId, ref)} safe, which no source has verified`);
    }
  }

  #checkFinalized(node: SimNode, seen: Seen, finalized: BlockId): void {
    const before = seen.finalized;
    seen.finalized = finalized;
    if (before === undefined || node.engine.canonicalRef(before.number)?.hash === before.hash) return;
    this.#deps.onViolation("finalized-moved", `${node.name}: block ${before.number} ${before.hash} was final`);
  }

  #block(chainId: bigint, hash: Hex): SimBlock | undefined {
    return this.#deps.chains.find(({ config }) => config.l2ChainId === chainId)?.known.get(hash);
  }

  /** A block and those before it, without the genesis. */
  *#ancestors(chainId: bigint, hash: Hex): Generator<SimBlock> {
    for (let block = this.#block(chainId, hash); block !== undefined; block = this.#block(chainId, block.ref.parentHash))
      yield block;
  }

  /** The block of a number in a chain that was verified. */
  #at({ heads }: VerifiedRound, chainId: bigint, number: number): SimBlock | undefined {
    const head = heads.get(chainId);
    if (head === undefined || number > head.number || number < 1) return undefined;
    for (const block of this.#ancestors(chainId, head.hash)) if (block.ref.number === number) return block;
    return undefined;
  }

  /** The blocks of a time as they were before any of them was denied. */
  #lookedAt(source: SimSource, round: VerifiedRound, timestamp: number): Map<bigint, ModelBlock> {
    const blocks = new Map<bigint, ModelBlock>();
    for (const { config } of this.#deps.chains) {
      const { l2ChainId: chainId } = config;
      const block = this.#at(round, chainId, numberAt(config, timestamp));
      if (block?.ref.timestamp === timestamp) blocks.set(chainId, modelBlock(block));
    }
    for (const { chainId, block, timestamp: time } of source.database!.denied.list()) {
      const denied = time === timestamp ? this.#block(chainId, block.hash) : undefined;
      if (denied !== undefined) blocks.set(chainId, modelBlock(denied));
    }
    return blocks;
  }

  #modelOf(round: VerifiedRound) {
    const { expirySec, chains } = this.#deps;
    return {
      expirySec,
      blockAt: (chainId: bigint, number: bigint): ModelBlock | undefined => {
        const config = chains.find((chain) => chain.config.l2ChainId === chainId)?.config;
        if (config === undefined || number > BigInt(numberAt(config, round.timestamp))) return undefined;
        const block = this.#at(round, chainId, Number(number));
        return block && modelBlock(block);
      },
    };
  }
}

const modelBlock = ({ ref, logs }: SimBlock): ModelBlock => ({ number: ref.number, timestamp: ref.timestamp, logs });
