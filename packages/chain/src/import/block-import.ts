import { bytesToHex, equalBytes, hexToBytes, ZERO_HASH } from "@rnode/primitives";
import type { Block, Header } from "@rnode/protocol";
import type { ChainDatabase } from "@rnode/storage";
import type { Chain } from "../api.ts";
import { create2DeployerCodeFrom } from "../execute/create2-deployer.ts";
import { newEngine } from "../execute/engine-module.ts";
import { describeFault } from "../faults.ts";
import type { PreparedBlock } from "../prepared-block.ts";
import type { SenderSource } from "../senders/senders.ts";
import { type StateRoots, startStateRoots } from "../state-roots/root-thread.ts";
import { fitsGroup, GroupImport, type ImportedBlock } from "./group-import.ts";

export interface BlockImportDependencies {
  readonly chain: Chain;
  /** of `chain` */
  readonly store: ChainDatabase;
  /** of `chain` */
  readonly senders: SenderSource;
  /** folder of the Canyon bytecode bundle */
  readonly upgradesDir?: string | undefined;
  /** who makes state roots of groups; default: a thread, where there are cores for it */
  readonly startRoots?: ((store: ChainDatabase, stateRoot: Uint8Array) => StateRoots) | undefined;
}

/** What is told of an item whose block is stored. PERF: the block's transactions are not kept in memory until then. */
export type StoredItem<T extends { readonly block: Block }> = Omit<T, "block"> & {
  readonly header: Header;
  readonly transactionCount: number;
};

export interface BlockImportOptions<S> {
  /** written in one durable commit */
  readonly groupBlocks: number;
  /** for every block that is stored, or already was */
  readonly onStored: (item: S) => void;
  /** default: `IMPORT_LIMITS` */
  readonly limits?: ImportLimits | undefined;
}

/** Bytes of blocks that wait in memory; the last block of each may be beyond them, however large it is. */
export interface ImportLimits {
  /** of a group's headers, bodies, receipts and senders; up to three groups are in memory */
  readonly groupBytes: number;
  /** of what is prepared before its turn */
  readonly aheadBytes: number;
}

/** PERF: a group of common blocks has some 5 MiB. */
export const IMPORT_LIMITS: ImportLimits = { groupBytes: 16 << 20, aheadBytes: 8 << 20 };

/** A block that was not imported, and everything after it. */
export interface ImportRefusal {
  readonly block: Block;
  readonly hash: Uint8Array;
  /** undefined: its parent is not in the database */
  readonly validationError: string | undefined;
}

const BLOCKS_AHEAD = 12;
/** Of a transaction, its data left out: signature, fees, addresses. */
const ROUGH_TRANSACTION_BYTES = 250;
/** Of blocks one by one that wait for a commit: less than the chain keeps of blocks that are not chosen, however much they change. */
const MAX_SINGLE_BLOCKS = 128;
const MAX_SINGLE_GAS = 60_000_000n;

/**
 * Executes and stores blocks that follow each other. Blocks that are canonical already are passed over. What was executed before an
 * invalid block, or before `blocks` throws, is stored.
 *
 * @returns undefined when all blocks were imported
 */
export async function importBlocks<T extends { readonly block: Block }>(
  dependencies: BlockImportDependencies,
  blocks: AsyncIterable<T>,
  options: BlockImportOptions<StoredItem<T>>,
): Promise<ImportRefusal | undefined> {
  const { chain, senders } = dependencies;
  const importer = new Importer(dependencies, options);
  try {
    for await (const next of prepared(blocks, senders, options.limits ?? IMPORT_LIMITS)) {
      if (next.prepared.header.number <= chain.genesis.block.header.number) continue; // exports begin with the genesis
      const refusal = await importer.add(next);
      if (refusal !== undefined) return refusal;
    }
    return await importer.finish();
  } catch (error) {
    await importer.finish().catch(() => undefined); // there is a better error already
    throw error;
  } finally {
    await importer.close();
  }
}

/** Groups where blocks follow the head, one by one where they do not (another branch, receipts with state roots). */
class Importer<S> {
  readonly #dependencies: BlockImportDependencies;
  readonly #options: BlockImportOptions<S>;
  #groups: GroupImport<S> | undefined;
  /** executed one by one, not stored yet */
  #single: ImportedBlock<S>[] = [];
  #singleGas = 0n;

  constructor(dependencies: BlockImportDependencies, options: BlockImportOptions<S>) {
    this.#dependencies = dependencies;
    this.#options = options;
  }

  async add(next: ImportedBlock<S>): Promise<ImportRefusal | undefined> {
    const { chain, store } = this.#dependencies;
    if (this.#isKnown(next)) return undefined;
    if (this.#single.length === 0) {
      const tip = this.#groups?.tip ?? hexToBytes(store.head()!.hash);
      if (fitsGroup(chain.config, tip, next.prepared.block))
        return await this.#addToGroup((this.#groups ??= this.#startGroups()), next);
      const refusal = await this.#endGroups();
      if (refusal !== undefined) return refusal;
      if (this.#isKnown(next)) return undefined; // it was on its way
    }
    return this.#addSingle(next);
  }

  /** Of canonical blocks tells that they are stored. Neither they nor those on their way are chosen again: an OP Stack chain would go back. */
  #isKnown({ item, prepared: { hash, header } }: ImportedBlock<S>): boolean {
    if (this.#single.some(({ prepared }) => equalBytes(prepared.hash, hash))) return true;
    const isStored = isCanonical(this.#dependencies.store, hash, header.number);
    if (isStored) this.#options.onStored(item);
    return isStored;
  }

  #startGroups(): GroupImport<S> {
    const { chain, store, senders, upgradesDir, startRoots } = this.#dependencies;
    const context = {
      config: chain.config,
      engine: newEngine(),
      senders,
      create2DeployerCode: create2DeployerCodeFrom(upgradesDir),
    };
    const { groupBlocks, onStored, limits = IMPORT_LIMITS } = this.#options;
    const { groupBytes } = limits;
    return new GroupImport(context, store, { groupBlocks, groupBytes, onStored, startRoots: startRoots ?? startStateRoots });
  }

  async #addToGroup(groups: GroupImport<S>, next: ImportedBlock<S>): Promise<ImportRefusal | undefined> {
    const problem = await groups.add(next);
    if (problem === undefined) return undefined;
    if ("wrong" in problem) return await this.#addAgain(problem.wrong.blocks);
    const refusal = await this.#endGroups();
    return refusal ?? refusalOf(next.prepared, describeFault(problem.fault));
  }

  /** A group with a wrong root somewhere is imported block by block, which names the block and keeps those before it. */
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
    const { status, validationError } = this.#dependencies.chain.newPayload(prepared);
    if (status !== "VALID") {
      return this.#storeSingle() ?? refusalOf(prepared, status === "INVALID" ? (validationError ?? "") : undefined);
    }
    this.#single.push(next);
    this.#singleGas += prepared.header.gasUsed;
    const most = Math.min(this.#options.groupBlocks, MAX_SINGLE_BLOCKS);
    return this.#single.length >= most || this.#singleGas >= MAX_SINGLE_GAS ? this.#storeSingle() : undefined;
  }

  /** Chooses the last one of the blocks that were executed one by one; those of a lighter branch wait in memory for what makes it heavier. */
  #storeSingle(): ImportRefusal | undefined {
    const stored = this.#single;
    this.#single = [];
    this.#singleGas = 0n;
    const last = stored.at(-1);
    if (last === undefined || !this.#isHeavier(last.prepared)) return undefined;
    const { chain } = this.#dependencies;
    const choice = { headBlockHash: last.prepared.hash, safeBlockHash: ZERO_HASH, finalizedBlockHash: ZERO_HASH };
    const chosen = chain.forkchoiceUpdated(choice, undefined, 3);
    const isChosen = chosen.kind === "updated" && chosen.status.status === "VALID";
    if (!isChosen) {
      const reason = chosen.kind === "invalid-state" ? chosen.reason : chosen.kind;
      return refusalOf(stored[0]!.prepared, `its branch cannot be chosen: ${reason}`);
    }
    for (const { item } of stored) this.#options.onStored(item);
    return undefined;
  }

  /** Of proof of work the heaviest branch is the chain, and the first one of two that weigh the same; of proof of stake what comes last. */
  #isHeavier({ header, hash }: PreparedBlock): boolean {
    const { chain, store } = this.#dependencies;
    if (header.difficulty === 0n) return true;
    let branch = 0n;
    let at: { readonly header: Header; readonly hash: Uint8Array } | undefined = { header, hash };
    while (at !== undefined && !isCanonical(store, at.hash, at.header.number)) {
      branch += at.header.difficulty;
      at = chain.headerOf({ kind: "hash", hash: at.header.parentHash, requireCanonical: false });
    }
    const below = at && store.readTotalDifficulty(at.hash);
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

  /** Stores all that was taken. */
  async finish(): Promise<ImportRefusal | undefined> {
    const refusal = await this.#endGroups();
    const notStored = this.#storeSingle();
    return refusal ?? notStored;
  }

  async close(): Promise<void> {
    await this.#groups?.close();
  }
}

/** The same blocks, what takes long of the next ones being made meanwhile. */
async function* prepared<T extends { readonly block: Block }>(
  blocks: AsyncIterable<T>,
  senders: SenderSource,
  { aheadBytes }: ImportLimits,
): AsyncGenerator<ImportedBlock<StoredItem<T>>> {
  const ahead: { readonly bytes: number; readonly pending: Promise<ImportedBlock<StoredItem<T>>> }[] = [];
  let bytesAhead = 0;
  const prepare = async ({ block, ...rest }: T): Promise<ImportedBlock<StoredItem<T>>> => {
    const item = { ...rest, header: block.header, transactionCount: block.transactions.length };
    return { item, prepared: await senders.prepare(block) };
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
      while (ahead.length > BLOCKS_AHEAD || (ahead.length > 1 && bytesAhead > aheadBytes)) yield await shift();
    }
  } catch (error) {
    failure = { error }; // after the blocks that came before it
  }
  while (ahead.length > 0) yield await shift();
  if (failure !== undefined) throw failure.error;
}

const refusalOf = ({ block, hash }: PreparedBlock, validationError: string | undefined): ImportRefusal => ({
  block,
  hash,
  validationError,
});

const roughBytes = ({ transactions }: Block): number =>
  transactions.reduce((sum, { data }) => sum + ROUGH_TRANSACTION_BYTES + data.length, 0);

function isCanonical(store: ChainDatabase, hash: Uint8Array, number: number): boolean {
  const stored = store.readCanonicalHash(number);
  return stored !== undefined && equalBytes(stored, hash);
}

export const describeImportRefusal = ({ block, hash, validationError }: ImportRefusal): string => {
  const which = `block ${block.header.number} ${bytesToHex(hash)}`;
  return validationError === undefined
    ? `${which}: its parent ${bytesToHex(block.header.parentHash)} is not in the database`
    : `${which} is invalid: ${validationError}`;
};
