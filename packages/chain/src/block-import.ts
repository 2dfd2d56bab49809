import { availableParallelism } from "node:os";
import { bytesToHex, equalBytes, ZERO_HASH } from "@rnode/primitives";
import { type Block, type Header, hashHeader } from "@rnode/protocol";
import type { ChainDatabase } from "@rnode/storage";
import type { Chain } from "./chain-types.ts";
import { create2DeployerCodeFrom } from "./create2-deployer.ts";
import { newEngine } from "./engine-module.ts";
import { describeFault } from "./faults.ts";
import { GroupImport, type PreparedBlock } from "./group-import.ts";
import type { SenderSource } from "./senders.ts";

export interface BlockImportDependencies {
  readonly chain: Chain;
  /** of `chain` */
  readonly store: ChainDatabase;
  /** of `chain` */
  readonly senders: SenderSource;
  /** folder of the Canyon bytecode bundle */
  readonly upgradesDir?: string | undefined;
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
  /** whether state roots get a thread of their own; default: where there are cores for it */
  readonly hasRootThread?: boolean | undefined;
}

/** A block that was not imported, and everything after it. */
export interface ImportRefusal {
  readonly block: Block;
  readonly hash: Uint8Array;
  /** undefined: its parent is not in the database */
  readonly validationError: string | undefined;
}

/** A block that is executed as if it came alone. */
type SingleBlock<S> = Pick<PreparedBlock<S>, "item" | "block" | "hash">;

const BLOCKS_AHEAD = 12;

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
  const { chain, store, senders } = dependencies;
  const importer = new Importer(dependencies, options);
  try {
    for await (const next of prepared(blocks, senders)) {
      const { block, hash, item } = next;
      if (block.header.number <= chain.genesis.block.header.number) continue; // exports begin with the genesis
      // Not chosen again: an OP Stack chain would go back to it, and lose what comes after.
      if (isCanonical(store, hash, block.header.number)) {
        options.onStored(item);
        continue;
      }
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
  #single: SingleBlock<S>[] = [];

  constructor(dependencies: BlockImportDependencies, options: BlockImportOptions<S>) {
    this.#dependencies = dependencies;
    this.#options = options;
  }

  async add(next: PreparedBlock<S>): Promise<ImportRefusal | undefined> {
    if (this.#single.length === 0) {
      this.#groups ??= this.#startGroups();
      if (this.#groups.fits(next.block)) return await this.#addToGroup(this.#groups, next);
      const refusal = await this.#endGroups();
      if (refusal !== undefined) return refusal;
    }
    return this.#addSingle(next);
  }

  #startGroups(): GroupImport<S> {
    const { chain, store, senders, upgradesDir } = this.#dependencies;
    const context = {
      config: chain.config,
      engine: newEngine(),
      senders,
      create2DeployerCode: create2DeployerCodeFrom(upgradesDir),
    };
    const hasThread = this.#options.hasRootThread ?? availableParallelism() > 1;
    return new GroupImport(context, store, { ...this.#options, hasThread });
  }

  async #addToGroup(groups: GroupImport<S>, next: PreparedBlock<S>): Promise<ImportRefusal | undefined> {
    const problem = await groups.add(next);
    if (problem === undefined) return undefined;
    if ("wrong" in problem) return await this.#addAgain([...problem.wrong.blocks, next]);
    const refusal = await this.#endGroups();
    return refusal ?? { block: next.block, hash: next.hash, validationError: describeFault(problem.fault) };
  }

  /** A group with a wrong root somewhere is imported block by block, which names the block and keeps those before it. */
  async #addAgain(blocks: readonly SingleBlock<S>[]): Promise<ImportRefusal | undefined> {
    await this.#groups?.close();
    this.#groups = undefined;
    for (const block of blocks) {
      const refusal = this.#addSingle(block);
      if (refusal !== undefined) return refusal;
    }
    return undefined;
  }

  #addSingle(next: SingleBlock<S>): ImportRefusal | undefined {
    const { block, hash } = next;
    const { status, validationError } = this.#dependencies.chain.newPayload(block, hash);
    if (status !== "VALID") {
      this.#storeSingle();
      return { block, hash, validationError: status === "INVALID" ? (validationError ?? "") : undefined };
    }
    this.#single.push(next);
    if (this.#single.length >= this.#options.groupBlocks) this.#storeSingle();
    return undefined;
  }

  #storeSingle(): void {
    const stored = this.#single;
    this.#single = [];
    const last = stored.at(-1);
    if (last === undefined) return;
    const { chain } = this.#dependencies;
    chain.forkchoiceUpdated({ headBlockHash: last.hash, safeBlockHash: ZERO_HASH, finalizedBlockHash: ZERO_HASH }, undefined, 3);
    for (const { item } of stored) this.#options.onStored(item);
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
    this.#storeSingle();
    return refusal;
  }

  async close(): Promise<void> {
    await this.#groups?.close();
  }
}

/** The same blocks, what takes long of the next ones being made meanwhile. */
async function* prepared<T extends { readonly block: Block }>(
  blocks: AsyncIterable<T>,
  senders: SenderSource,
): AsyncGenerator<PreparedBlock<StoredItem<T>>> {
  const ahead: Promise<PreparedBlock<StoredItem<T>>>[] = [];
  const prepare = async ({ block, ...rest }: T): Promise<PreparedBlock<StoredItem<T>>> => {
    const item = { ...rest, header: block.header, transactionCount: block.transactions.length };
    return { item, block, hash: hashHeader(block.header), prepared: await senders.prepare(block.transactions) };
  };
  let failure: { readonly error: unknown } | undefined;
  try {
    for await (const item of blocks) {
      ahead.push(prepare(item));
      if (ahead.length > BLOCKS_AHEAD) yield await ahead.shift()!;
    }
  } catch (error) {
    failure = { error }; // after the blocks that came before it
  }
  while (ahead.length > 0) yield await ahead.shift()!;
  if (failure !== undefined) throw failure.error;
}

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
