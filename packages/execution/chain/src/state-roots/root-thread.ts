import type { Hex } from "@rnode/primitives";
import type { ChainDatabase, ChainStoreBulk } from "@rnode/storage";
import { hasThreads, type ThreadOverrides, WorkerHost } from "@rnode/threads";
import { type GroupRoots, GroupRootsBuilder } from "./group-roots.ts";

interface ChangedBlock {
  readonly number: number;
  /** made by `packChanges` */
  readonly packed: Uint8Array<ArrayBuffer>;
  readonly isRun: boolean;
}

/** Blocks one after the other. After each group comes "seal", which is answered, and later "committed" once the group is. */
export type RootQuestion =
  | { readonly kind: "add"; readonly blocks: readonly ChangedBlock[] }
  | { readonly kind: "seal" }
  | { readonly kind: "committed" };

export interface SealedRoots {
  readonly blocks: readonly {
    readonly stateRoot: Uint8Array;
    readonly storageRoots: readonly (readonly [Hex, Uint8Array])[];
  }[];
  readonly nodeRows: Uint8Array;
}

export interface RootThreadData {
  /** folder of the database, whose head is the parent of the first block */
  readonly folder: string;
  readonly stateRoot: Uint8Array;
}

/** PERF: most objects of a block are garbage by the next block; a smaller young generation would copy them before that. */
const YOUNG_GENERATION_MB = 96;

/** If it is a database, it has a folder, which a thread can open as well. */
export type RootStore = Pick<ChainStoreBulk, "nodeGroups"> & Partial<Pick<ChainDatabase, "folder">>;

/** Computes state roots of groups of blocks while the blocks after them are executed. */
export interface StateRoots {
  /**
   * @param packed changes of the next block, made by `packChanges`; the caller must not use it afterwards
   * @param isRun as in `GroupRootsBuilder.add`
   */
  add(number: number, packed: Uint8Array<ArrayBuffer>, isRun: boolean): void;
  /** Ends a group. @returns undefined: its roots are not available, nor are those of later groups */
  seal(): Promise<GroupRoots | undefined>;
  /** Called when the oldest sealed group has been committed. */
  committed(): void;
  close(): Promise<void>;
}

/**
 * Computes them in a thread if there are enough cores, otherwise in this thread.
 *
 * @param store its head must have `stateRoot`
 */
export function startStateRoots(store: RootStore, stateRoot: Uint8Array, overrides: ThreadOverrides = {}): StateRoots {
  const { folder } = store;
  if (folder === undefined || (overrides.program === undefined && !hasThreads(import.meta.url))) return rootsHere(store, stateRoot);
  return new RootThread({ folder, stateRoot }, overrides);
}

/** @param maxNodes limit for the trie nodes in memory, for blocks that are stored */
export function rootsHere(store: RootStore, stateRoot: Uint8Array, maxNodes?: number): StateRoots {
  const builder = new GroupRootsBuilder(store, stateRoot, maxNodes);
  return {
    add: (number, packed, isRun) => builder.add(number, packed, isRun),
    seal: () => Promise.resolve(builder.seal()),
    committed: () => builder.committed(),
    close: () => Promise.resolve(),
  };
}

/** PERF: a message costs as much as the changes of a small block. */
const MESSAGE_BYTES = 64 << 10;

/** The thread knows only the blocks since its start, so a replacement could not continue its work. */
class RootThread implements StateRoots {
  readonly #host: WorkerHost<RootQuestion, SealedRoots>;
  #unsent: ChangedBlock[] = [];
  #unsentBytes = 0;

  constructor(data: RootThreadData, overrides: ThreadOverrides) {
    const program = new URL("./root-worker.js", import.meta.url);
    this.#host = new WorkerHost({ program, data, youngGenerationMb: YOUNG_GENERATION_MB, ...overrides });
    this.#host.start();
  }

  get #isLost(): boolean {
    return this.#host.losses > 0;
  }

  add(number: number, packed: Uint8Array<ArrayBuffer>, isRun: boolean): void {
    this.#unsent.push({ number, packed, isRun });
    this.#unsentBytes += packed.length;
    if (this.#unsentBytes >= MESSAGE_BYTES) this.#send();
  }

  #send(): void {
    const blocks = this.#unsent;
    this.#unsent = [];
    this.#unsentBytes = 0;
    if (this.#isLost || blocks.length === 0) return;
    this.#host.tell(
      { kind: "add", blocks },
      blocks.map(({ packed }) => packed.buffer),
    );
  }

  async seal(): Promise<GroupRoots | undefined> {
    this.#send();
    const sealed = this.#isLost ? undefined : await this.#host.ask({ kind: "seal" });
    if (sealed === undefined) return undefined;
    const blocks = sealed.blocks.map(({ stateRoot, storageRoots }) => ({ stateRoot, storageRoots: new Map(storageRoots) }));
    return { blocks, nodeRows: sealed.nodeRows };
  }

  committed(): void {
    if (!this.#isLost) this.#host.tell({ kind: "committed" });
  }

  async close(): Promise<void> {
    await this.#host.close();
  }
}
