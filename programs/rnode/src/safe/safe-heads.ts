import type { L1Provider } from "@rnode/derivation";
import { isCodedError } from "@rnode/primitives";
import type { BlockId, L1BlockRef, L2BlockRef, RollupConfig } from "@rnode/protocol";
import type { FoundHeads } from "../common/found-heads.ts";
import { keptL1Block } from "../common/kept-block.ts";
import { type Trouble, temporary } from "../common/progress.ts";
import type { DerivedBlock } from "./finalizer.ts";
import type { SafeHeadDatabase, SafeHeadEntry } from "./safe-head-database.ts";

export interface SafeHeadsDeps {
  /** undefined: nothing is recorded */
  readonly database: SafeHeadDatabase | undefined;
  readonly config: Pick<RollupConfig, "genesis">;
  readonly l1: Pick<L1Provider, "blockByNumber">;
  readonly l1Head: () => L1BlockRef | undefined;
  /** the record could not be written: derivation must start over */
  readonly onFault: (reason: string) => void;
}

/** A node that is further behind the L1 head than this many blocks counts as catching up. */
const NEAR_HEAD = 32;

/** Keeps the record of safe heads: what derivation reports goes into the safe-head database, if there is one. */
export class SafeHeads {
  private readonly deps: SafeHeadsDeps;

  constructor(deps: SafeHeadsDeps) {
    this.deps = deps;
  }

  get isEnabled(): boolean {
    return this.deps.database !== undefined;
  }

  /** The safe head after L1 block `l1Number`; undefined if it is not known. @throws {CodedError} safe-heads/*, storage/* */
  at(l1Number: number): SafeHeadEntry | undefined {
    return this.deps.database?.at(l1Number);
  }

  /** The L1 block whose data made an L2 block safe. @throws {CodedError} safe-heads/*, storage/* */
  firstWithSafe(l2Number: number): BlockId | "not-safe-yet" | "unknown" {
    return this.deps.database?.firstWithSafe(l2Number) ?? "not-safe-yet";
  }

  /** An L1 block by whose data an L2 block was safe, as the record knows it: the first, or a later one where the record has a gap. */
  knownSafeBy(l2Number: number): BlockId | undefined {
    return this.deps.database?.knownSafeBy(l2Number);
  }

  /** The recorded safe head after an L1 block, if the engine's chain has it. @throws {CodedError} safe-heads/*, storage/*, engine/* */
  async blockAt(
    l1Number: number,
    l2: { blockRefByNumber(number: number): Promise<L2BlockRef | undefined> },
  ): Promise<DerivedBlock | undefined> {
    const entry = this.at(l1Number);
    const ref = entry && (await l2.blockRefByNumber(entry.safeHead.number));
    return entry === undefined || ref?.hash !== entry.safeHead.hash ? undefined : { l1: entry.l1Block, l2: ref };
  }

  /** The recorded safe heads above a block, oldest first; none if the record cannot be read. */
  *after(base: L2BlockRef): Generator<SafeHeadEntry> {
    try {
      yield* this.deps.database?.after(base) ?? [];
    } catch (error) {
      if (!isCodedError(error, "safe-heads/") && !isCodedError(error, "storage/")) throw error;
    }
  }

  onSafe({ hash, number }: L2BlockRef, derivedFrom: L1BlockRef): void {
    const l1Block = { hash: derivedFrom.hash, number: derivedFrom.number };
    const isCatchingUp = (this.deps.l1Head()?.number ?? 0) > derivedFrom.number + NEAR_HEAD;
    this.write((database) => database.record({ l1Block, safeHead: { hash, number } }, isCatchingUp));
  }

  onIdle(): void {
    this.write((database) => database.settle());
  }

  /** Removes the records after the found heads. @returns an error; undefined: none */
  async reset(found: Extract<FoundHeads, { readonly kind: "found" }>): Promise<Trouble | undefined> {
    const { database, config, l1 } = this.deps;
    if (database === undefined) return undefined;
    const { base } = found;
    try {
      let { derivedFrom } = found;
      // The genesis is safe from the first L1 block on: contracts may ask about blocks before the one that the rollup starts from.
      if (base.number === config.genesis.l2.number) derivedFrom = idOf(await keptL1Block(l1, 0)) ?? derivedFrom;
      database.reset(base, derivedFrom);
      return undefined;
    } catch (error) {
      if (!isCodedError(error)) throw error;
      return temporary(`safe-head database: ${error.message}`);
    }
  }

  private write(action: (database: SafeHeadDatabase) => void): void {
    const { database, onFault } = this.deps;
    if (database === undefined) return;
    try {
      action(database);
    } catch (error) {
      if (!isCodedError(error)) throw error;
      onFault(`the safe-head database cannot be written: ${error.message}`);
    }
  }
}

const idOf = (block: L1BlockRef | undefined): BlockId | undefined => block && { hash: block.hash, number: block.number };
