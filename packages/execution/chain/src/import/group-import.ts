import { performance } from "node:perf_hooks";
import { bytesToHex, EMPTY_TRIE_ROOT, equalBytes, type Hex } from "@rnode/primitives";
import { type Block, type BlockRules, type ChainConfig, type Header, PREDEPLOYS } from "@rnode/protocol";
import { anyClearsStorage, type BlockGroup, type ChainStoreBulk, type ChainStoreReader, changeCount } from "@rnode/storage";
import type { BlockSums } from "../api.ts";
import { checkRoots, type runBlock } from "../execute/block-execution.ts";
import { PreparedBlock } from "../prepared-block.ts";
import type { GroupRoots } from "../state-roots/group-roots.ts";
import { packChanges } from "../state-roots/packed-changes.ts";
import type { StateRoots } from "../state-roots/root-thread.ts";
import { TotalDifficulties } from "../validation/merge.ts";
import { rulesOfBlock } from "../validation/rules.ts";
import { PendingState } from "./pending-state.ts";

/** A block, and the item it came with. */
export interface ImportedBlock<T> {
  readonly item: T;
  readonly prepared: PreparedBlock;
}

/** A block that was executed and whose state root is being computed. Its body is in the group's content, as bytes. */
interface RunBlock<T> {
  readonly item: T;
  readonly header: Header;
  readonly hash: Uint8Array;
  readonly transactions: number;
  readonly rules: BlockRules;
}

interface SealedGroup<T> {
  readonly blocks: readonly RunBlock<T>[];
  readonly content: BlockGroup;
  readonly isRun: boolean;
  /** undefined: the roots are not available */
  readonly roots: Promise<GroupRoots | undefined>;
}

/**
 * The outcome if a state root does not match its header, or if the state-root thread has ended: all blocks that are not stored,
 * including the next one.
 */
export interface WrongGroup<T> {
  readonly kind: "wrong";
  readonly blocks: readonly ImportedBlock<T>[];
}

/** The parts of the chain that a group uses. */
export interface GroupChain {
  readonly store: ChainStoreReader & Pick<ChainStoreBulk, "newGroup" | "beginGroups" | "proofWindowBlocks">;
  /** Executes a block on a state that is not in the chain yet, with an engine that nothing else uses. */
  readonly runBlock: (parent: Parameters<typeof runBlock>[1], block: PreparedBlock) => ReturnType<typeof runBlock>;
  /** Starts computing state roots for blocks after the head. */
  startRoots(stateRoot: Uint8Array): StateRoots;
  /** Commits a group on top of the head. @param isRun `roots` has those after the last block only */
  commitGroup(group: BlockGroup, roots: GroupRoots, isRun: boolean): void;
  /** Tells the chain's listeners about the committed group. */
  tellGroup(hashes: readonly Uint8Array[], sums: BlockSums): void;
}

/**
 * Whether groups can take the block after the one with the hash `tip`: it must be its child, and its receipts must not contain state
 * roots.
 */
export const fitsGroup = (config: ChainConfig, tip: Uint8Array, { header }: Block): boolean =>
  equalBytes(header.parentHash, tip) && rulesOfBlock(config, header).receiptsHaveStatus;

/** PERF: limits the memory for the changed accounts and slots of a group. */
const MAX_GROUP_CHANGES = 60_000;
/**
 * The longest duration of a group: however slow the blocks are, they are stored every few seconds. PERF: a group that ends before it is
 * full writes most rows again with the next group. With 96 blocks of 300 swaps on a busy machine, groups of two seconds (3 to 5 blocks)
 * take a tenth more CPU time than full ones.
 */
const MAX_GROUP_MS = 4000;
/** PERF: the larger a run, the fewer nodes of the tries are hashed for a block. A kill costs a run. */
const RUN_BLOCKS = 2048;

/**
 * Imports a straight chain of blocks on top of the head, in groups. Each block is executed on the changes of the blocks before it,
 * while the state-root thread works on those. A group is committed as a whole when all of its roots are right. The roots may lag behind
 * execution by up to two groups.
 *
 * A group below `proofsFrom` is a run: of the roots, only those after its last block are computed and compared. A wrong root between them
 * remains, so the blocks must be ancestors of a block that the caller trusts.
 */
export class GroupImport<T> {
  readonly #chain: GroupChain;
  readonly #store: GroupChain["store"];
  readonly #roots: StateRoots;
  readonly #groupBlocks: number;
  readonly #proofsFrom: number;
  readonly #groupBytes: number;
  readonly #onStored: ((item: T) => void) | undefined;
  readonly #state: PendingState;
  readonly #totalDifficulties = new TotalDifficulties((hash) => this.#blockOf(hash)?.header ?? this.#store.readHeader(hash));
  /** blocks that are not stored yet */
  readonly #pending = new Map<Hex, Pick<Block, "header" | "ommers">>();
  #tip: { readonly hash: Uint8Array; readonly header: Header };
  #group: RunBlock<T>[] = [];
  #content: BlockGroup;
  /** PERF: the buffers of groups that can be reused */
  readonly #unused: BlockGroup[] = [];
  #groupChanges = 0;
  #groupStartMs = performance.now();
  readonly #sealed: SealedGroup<T>[] = [];

  constructor(
    chain: GroupChain,
    options: {
      readonly groupBlocks: number;
      /** limit for the rows of a group's blocks (headers, bodies, receipts, senders), without the last block */
      readonly groupBytes: number;
      readonly proofsFrom: number;
      readonly onStored?: ((item: T) => void) | undefined;
    },
  ) {
    const { store } = chain;
    const { number } = store.head()!;
    const hash = store.readCanonicalHash(number)!;
    const header = store.readHeader(hash)!;
    this.#chain = chain;
    this.#store = store;
    this.#tip = { hash, header };
    this.#groupBlocks = options.groupBlocks;
    this.#proofsFrom = options.proofsFrom;
    this.#groupBytes = options.groupBytes;
    this.#onStored = options.onStored;
    this.#state = new PendingState(store.stateAt(number)!);
    this.#content = this.#newContent();
    store.beginGroups();
    this.#roots = chain.startRoots(header.stateRoot);
  }

  #newContent(): BlockGroup {
    const content = this.#unused.pop() ?? this.#store.newGroup();
    this.#state.push(content);
    return content;
  }

  #blockOf(hash: Uint8Array): Pick<Block, "header" | "ommers"> | undefined {
    return this.#pending.get(bytesToHex(hash));
  }

  /** Hash of the last block. */
  get tip(): Uint8Array {
    return this.#tip.hash;
  }

  /**
   * Executes the next block. @returns that it is invalid, or the blocks that are not stored because a group is invalid;
   * undefined: neither
   */
  async add(next: ImportedBlock<T>): Promise<{ readonly kind: "invalid" } | WrongGroup<T> | undefined> {
    const { prepared } = next;
    const { block, hash, encodedHeader, encodedTransactions, transactionHashes } = prepared;
    const parent = {
      ...this.#tip,
      reader: this.#state,
      trie: undefined,
      ancestorOf: (ancestor: Uint8Array) => this.#blockOf(ancestor) ?? this.#store.readBlock(ancestor),
      totalDifficulty: () => this.#totalDifficulties.of(block.header.parentHash),
    };
    const outcome = this.#chain.runBlock(parent, prepared);
    if (outcome.kind === "invalid") return { kind: "invalid" };
    const { rules, senders, result, encodedReceipts } = outcome;
    const { changes, receipts } = result;
    const isClearing = anyClearsStorage(changes);
    if (isClearing) {
      // The rows of the storage that is cleared must be in the database.
      const wrong = await this.finish();
      if (wrong !== undefined) return { kind: "wrong", blocks: [...wrong.blocks, next] };
    }
    const { header, ommers } = block;
    const { number } = header;
    const body = { block, hash, encodedHeader, encodedTransactions, transactionHashes, senders };
    this.#content.add({ ...body, receipts, encodedReceipts, changes });
    this.#state.addHash(number, hash);
    const isRun = this.#isRun(number);
    if (!isRun || isClearing) this.#roots.add(number, packChanges(changes), isRun);
    this.#pending.set(bytesToHex(hash), { header, ommers });
    this.#tip = { hash, header };
    this.#group.push({ item: next.item, header, hash, transactions: block.transactions.length, rules });
    this.#groupChanges += changeCount(changes);
    if (isClearing || this.#isGroupFull()) {
      this.#seal(isClearing);
      const wrong = await this.#commitUntil(isClearing ? 0 : 1);
      if (wrong !== undefined) return wrong;
    }
    return undefined;
  }

  /** Whether the block belongs to a run. */
  #isRun(number: number): boolean {
    return number < this.#proofsFrom;
  }

  #isGroupFull(): boolean {
    const { number } = this.#tip.header;
    return (
      this.#group.length >= (this.#isRun(number) ? Math.max(RUN_BLOCKS, this.#groupBlocks) : this.#groupBlocks) ||
      this.#isRun(number) !== this.#isRun(number + 1) ||
      this.#groupChanges >= MAX_GROUP_CHANGES ||
      this.#content.rowBytes >= this.#groupBytes ||
      performance.now() - this.#groupStartMs > MAX_GROUP_MS
    );
  }

  /** @param isClearing the changes of the group's only block have been sent already */
  #seal(isClearing = false): void {
    const { number } = this.#tip.header;
    const isRun = this.#isRun(number);
    if (isRun && !isClearing) this.#roots.add(number, this.#content.packedChanges(), isRun);
    const roots = this.#roots.seal().catch(() => undefined); // the same error will occur when the blocks are executed again
    this.#sealed.push({ blocks: this.#group, content: this.#content, isRun, roots });
    this.#group = [];
    this.#content = this.#newContent();
    this.#groupChanges = 0;
    this.#groupStartMs = performance.now();
  }

  /** Commits everything that is in progress. */
  async finish(): Promise<WrongGroup<T> | undefined> {
    if (this.#group.length > 0) this.#seal();
    return await this.#commitUntil(0);
  }

  /** Commits the oldest sealed groups until only `left` of them remain. */
  async #commitUntil(left: number): Promise<WrongGroup<T> | undefined> {
    while (this.#sealed.length > left) {
      const { blocks, content, isRun, roots: pendingRoots } = this.#sealed[0]!;
      const roots = await pendingRoots;
      if (roots === undefined || !this.#areRight(isRun ? blocks.slice(-1) : blocks, roots)) return this.#notStored();
      this.#sealed.shift();
      this.#chain.commitGroup(content, roots, isRun);
      const { number } = blocks.at(-1)!.header;
      this.#state.rebase(this.#store.stateAt(number)!, number);
      content.clear();
      this.#unused.push(content);
      this.#roots.committed();
      for (const { hash } of blocks) this.#pending.delete(bytesToHex(hash));
      for (const { item } of blocks) this.#onStored?.(item);
      this.#chain.tellGroup(
        blocks.map(({ hash }) => hash),
        {
          gasUsed: blocks.reduce((sum, { header }) => sum + Number(header.gasUsed), 0),
          transactions: blocks.reduce((sum, { transactions }) => sum + transactions, 0),
        },
      );
    }
    return undefined;
  }

  #notStored(): WrongGroup<T> {
    const groups = [...this.#sealed, { blocks: this.#group, content: this.#content }];
    return {
      kind: "wrong",
      blocks: groups.flatMap(({ blocks, content }) =>
        blocks.map(({ item }, index) => ({ item, prepared: new PreparedBlock(content.blockAt(index)) })),
      ),
    };
  }

  #areRight(blocks: readonly RunBlock<T>[], roots: GroupRoots): boolean {
    const passer = PREDEPLOYS.l2ToL1MessagePasser;
    const passerHex = bytesToHex(passer);
    const { number } = this.#store.head()!;
    let passerRoot = this.#store.stateAt(number)!.readAccount(passer)?.storageRoot ?? EMPTY_TRIE_ROOT;
    return blocks.every(({ rules, header }, index) => {
      const { stateRoot, storageRoots } = roots.blocks[index]!;
      passerRoot = storageRoots.get(passerHex) ?? passerRoot;
      return checkRoots(rules, header, { stateRoot }, () => passerRoot) === undefined;
    });
  }

  async close(): Promise<void> {
    await this.#roots.close();
  }
}
