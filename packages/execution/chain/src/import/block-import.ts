import { bytesToHex, equalBytes, hexToBytes } from "@rnode/primitives";
import type { Block, ChainConfig, Header, PayloadStatusV1 } from "@rnode/protocol";
import type { ImportItem, ImportLimits, ImportOptions, ImportRefusal, StoredItem } from "../api.ts";
import { ChainError } from "../faults.ts";
import { isCanonicalBlock } from "../fork-choice/canonical-blocks.ts";
import type { KnownParts, PreparedBlock } from "../prepared-block.ts";
import { fitsGroup, type GroupChain, GroupImport, type ImportedBlock } from "./group-import.ts";

/** What an import needs from the chain that it extends. */
export interface ImportingChain extends GroupChain {
  readonly config: ChainConfig;
  readonly genesisNumber: number;
  /** Whether to stop taking blocks. */
  isClosing(): boolean;
  /** Does the expensive preparations for a block. */
  prepare(block: Block, known: Pick<KnownParts, "transactionsRoot">): Promise<PreparedBlock>;
  headerOf(hash: Uint8Array): Header | undefined;
  newPayload(block: PreparedBlock): PayloadStatusV1;
  /** Makes an executed block the head without moving the labels. @returns why it cannot be the head; undefined: it is */
  choose(hash: Uint8Array): string | undefined;
}

/** PERF: a group of ordinary blocks has some 5 MiB. */
export const IMPORT_LIMITS: ImportLimits = { groupBytes: 16 << 20, aheadBytes: 8 << 20 };

/** PERF: blocks of few transactions are prepared together. */
const BLOCKS_AHEAD = { least: 12, most: 128, bytes: 128 << 10 } as const;
/** Rough size of a transaction without its data: signature, fees and addresses. */
const ROUGH_TRANSACTION_BYTES = 250;
/**
 * The most blocks executed one by one that may wait for a commit. The chain keeps more unchosen blocks than this, however much they
 * change.
 */
const MAX_SINGLE_BLOCKS = 128;
const MAX_SINGLE_GAS = 60_000_000n;

/** Implements `Chain.import`. */
export async function importBlocks<T extends ImportItem>(
  chain: ImportingChain,
  blocks: AsyncIterable<T> | Iterable<T>,
  options: ImportOptions<StoredItem<T>>,
): Promise<ImportRefusal | undefined> {
  const importer = new Importer(chain, options);
  try {
    for await (const next of prepared(blocks, chain, options.limits ?? IMPORT_LIMITS)) {
      if (chain.isClosing()) throw new ChainError("chain/closed");
      if (next.prepared.header.number <= chain.genesisNumber) continue; // exports begin with the genesis
      const refusal = await importer.add(next);
      if (refusal !== undefined) return refusal;
    }
    return await importer.finish();
  } catch (error) {
    await importer.finish().catch(() => undefined); // there is already a more informative error
    throw error;
  } finally {
    await importer.close();
  }
}

/** Imports blocks in groups where they extend the head, and one by one where they do not (another branch, or receipts with state roots). */
class Importer<S> {
  readonly #chain: ImportingChain;
  readonly #options: ImportOptions<S>;
  #groups: GroupImport<S> | undefined;
  /** executed one by one, but not stored yet */
  #single: ImportedBlock<S>[] = [];
  #singleGas = 0n;

  constructor(chain: ImportingChain, options: ImportOptions<S>) {
    this.#chain = chain;
    this.#options = options;
  }

  async add(next: ImportedBlock<S>): Promise<ImportRefusal | undefined> {
    const { config, store } = this.#chain;
    if (this.#isKnown(next)) return undefined;
    if (this.#single.length === 0) {
      const tip = this.#groups?.tip ?? hexToBytes(store.head()!.hash);
      if (fitsGroup(config, tip, next.prepared.block)) return await this.#addToGroup((this.#groups ??= this.#startGroups()), next);
      const refusal = await this.#endGroups();
      if (refusal !== undefined) return refusal;
      if (this.#isKnown(next)) return undefined; // it was on its way in a group
    }
    return this.#addSingle(next);
  }

  /**
   * Whether the block is canonical or on its way; a canonical one is reported as stored. Such blocks are not chosen again, because that
   * would rewind an OP Stack chain.
   */
  #isKnown({ item, prepared: { hash, hashHex, header } }: ImportedBlock<S>): boolean {
    if (this.#single.some(({ prepared }) => equalBytes(prepared.hash, hash))) return true;
    const isStored = isCanonicalBlock(this.#chain.store, hashHex, header.number);
    if (isStored) this.#options.onStored?.(item);
    return isStored;
  }

  #startGroups(): GroupImport<S> {
    const { groupBlocks, onStored, trustedHead = 0, limits = IMPORT_LIMITS } = this.#options;
    const proofsFrom = trustedHead - this.#chain.store.proofWindowBlocks + 1;
    return new GroupImport(this.#chain, { groupBlocks, groupBytes: limits.groupBytes, proofsFrom, onStored });
  }

  async #addToGroup(groups: GroupImport<S>, next: ImportedBlock<S>): Promise<ImportRefusal | undefined> {
    const problem = await groups.add(next);
    if (problem === undefined) return undefined;
    if (problem.kind === "wrong") return await this.#addAgain(problem.blocks);
    // The blocks before it are stored first. Then the chain validates the block and records its fault.
    return (await this.#endGroups()) ?? this.#addSingle(next);
  }

  /** Imports the blocks of a group with a wrong root one by one, which identifies the wrong block and keeps those before it. */
  async #addAgain(blocks: readonly ImportedBlock<S>[]): Promise<ImportRefusal | undefined> {
    await this.#groups?.close();
    this.#groups = undefined;
    for (const block of blocks) {
      const refusal = this.#addSingle(block);
      if (refusal !== undefined) return refusal;
    }
    return undefined;
  }

  #addSingle(next: ImportedBlock<S>): ImportRefusal | undefined {
    const { prepared } = next;
    const { status, validationError } = this.#chain.newPayload(prepared);
    if (status !== "VALID") {
      return this.#storeSingle() ?? refusalOf(prepared, status === "INVALID" ? (validationError ?? "") : undefined);
    }
    this.#single.push(next);
    this.#singleGas += prepared.header.gasUsed;
    const most = Math.min(this.#options.groupBlocks, MAX_SINGLE_BLOCKS);
    return this.#single.length >= most || this.#singleGas >= MAX_SINGLE_GAS ? this.#storeSingle() : undefined;
  }

  /**
   * Chooses the last of the blocks that were executed one by one. Blocks of a lighter branch stay in memory until the branch is
   * heavier.
   */
  #storeSingle(): ImportRefusal | undefined {
    const stored = this.#single;
    this.#single = [];
    this.#singleGas = 0n;
    const last = stored.at(-1);
    if (last === undefined || !this.#isHeavier(last.prepared)) return undefined;
    const reason = this.#chain.choose(last.prepared.hash);
    if (reason !== undefined) return refusalOf(stored[0]!.prepared, `its branch cannot be chosen: ${reason}`);
    for (const { item } of stored) this.#options.onStored?.(item);
    return undefined;
  }

  /**
   * Under proof of work, the heaviest branch is the chain and, of two equally heavy ones, the first. Under proof of stake, it is the
   * latest.
   */
  #isHeavier({ header, hash }: PreparedBlock): boolean {
    const { store } = this.#chain;
    if (header.difficulty === 0n) return true;
    let branch = 0n;
    let at: Header | undefined = header;
    let atHash = hash;
    while (at !== undefined && !isCanonicalBlock(store, bytesToHex(atHash), at.number)) {
      branch += at.difficulty;
      atHash = at.parentHash;
      at = this.#chain.headerOf(atHash);
    }
    const below = at && store.readTotalDifficulty(atHash);
    const head = store.readTotalDifficulty(hexToBytes(store.head()!.hash));
    return below === undefined || head === undefined || below + branch > head;
  }

  async #endGroups(): Promise<ImportRefusal | undefined> {
    const groups = this.#groups;
    if (groups === undefined) return undefined;
    const wrong = await groups.finish();
    await groups.close();
    this.#groups = undefined;
    return wrong === undefined ? undefined : await this.#addAgain(wrong.blocks);
  }

  /** Stores all blocks that were taken. */
  async finish(): Promise<ImportRefusal | undefined> {
    const refusal = await this.#endGroups();
    const notStored = this.#storeSingle();
    return refusal ?? notStored;
  }

  async close(): Promise<void> {
    await this.#groups?.close();
  }
}

/** The same blocks; the expensive preparations of the next ones run ahead. */
async function* prepared<T extends ImportItem>(
  blocks: AsyncIterable<T> | Iterable<T>,
  chain: Pick<ImportingChain, "prepare">,
  { aheadBytes }: ImportLimits,
): AsyncGenerator<ImportedBlock<StoredItem<T>>> {
  const ahead: { readonly bytes: number; readonly pending: Promise<ImportedBlock<StoredItem<T>>> }[] = [];
  let bytesAhead = 0;
  const prepare = async ({ block, transactionsRoot, ...rest }: T): Promise<ImportedBlock<StoredItem<T>>> => {
    const item = { ...rest, header: block.header, transactionCount: block.transactions.length };
    return { item, prepared: await chain.prepare(block, { transactionsRoot }) };
  };
  const shift = (): Promise<ImportedBlock<StoredItem<T>>> => {
    const { bytes, pending } = ahead.shift()!;
    bytesAhead -= bytes;
    return pending;
  };
  let failure: { readonly error: unknown } | undefined;
  try {
    for await (const item of blocks) {
      const bytes = roughBytes(item.block);
      ahead.push({ bytes, pending: prepare(item) });
      bytesAhead += bytes;
      while (isEnough(ahead.length, bytesAhead) || (ahead.length > 1 && bytesAhead > aheadBytes)) yield await shift();
    }
  } catch (error) {
    failure = { error }; // thrown only after the blocks that came before it
  }
  while (ahead.length > 0) yield await shift();
  if (failure !== undefined) throw failure.error;
}

const isEnough = (blocks: number, bytes: number): boolean =>
  blocks > BLOCKS_AHEAD.most || (blocks > BLOCKS_AHEAD.least && bytes > BLOCKS_AHEAD.bytes);

const refusalOf = ({ block, hash }: PreparedBlock, validationError: string | undefined): ImportRefusal => ({
  block,
  hash,
  validationError,
});

const roughBytes = ({ transactions }: Block): number =>
  transactions.reduce((sum, { data }) => sum + ROUGH_TRANSACTION_BYTES + data.length, 0);

export const describeImportRefusal = ({ block, hash, validationError }: ImportRefusal): string => {
  const which = `block ${block.header.number} ${bytesToHex(hash)}`;
  return validationError === undefined
    ? `${which}: its parent ${bytesToHex(block.header.parentHash)} is not in the database`
    : `${which} is invalid: ${validationError}`;
};
