import { availableParallelism } from "node:os";
import { Worker } from "node:worker_threads";
import type { Hex } from "@rnode/primitives";
import type { ChainDatabase } from "@rnode/storage";
import { type GroupRoots, GroupRootsBuilder } from "./group-roots.ts";

/** To the thread. */
export type RootRequest =
  | { readonly kind: "add"; readonly number: number; readonly packed: Uint8Array }
  | { readonly kind: "seal" }
  | { readonly kind: "committed" };

/** To each "seal", in order. */
export type RootReply =
  | {
      readonly kind: "sealed";
      readonly blocks: readonly {
        readonly stateRoot: Uint8Array;
        readonly storageRoots: readonly (readonly [Hex, Uint8Array])[];
      }[];
      readonly nodeRows: Uint8Array;
    }
  | { readonly kind: "failed"; readonly error: unknown };

export interface RootThreadData {
  /** folder of the database, whose head is the parent of the first block */
  readonly folder: string;
  readonly stateRoot: Uint8Array;
}

/** PERF: most of what a block makes is garbage when the next one comes; a small young generation copies it before. */
const YOUNG_GENERATION_MB = 96;

/** State roots of groups of blocks, beside the execution of what follows. */
export interface StateRoots {
  /** @param packed changes of the next block, of `packChanges`; not used by the caller afterwards */
  add(number: number, packed: Uint8Array<ArrayBuffer>): void;
  /** Ends a group. */
  seal(): Promise<GroupRoots>;
  /** Tells that the oldest sealed group is committed. */
  committed(): void;
  close(): Promise<void>;
}

/** In a thread of its own where there are cores for it, else here. @param store whose head has `stateRoot` */
export function startStateRoots(store: ChainDatabase, stateRoot: Uint8Array): StateRoots {
  // Run from sources (tests), there is no file that a thread could load.
  const hasThread = import.meta.url.endsWith(".js") && availableParallelism() > 1;
  return hasThread ? new RootThread({ folder: store.folder, stateRoot }) : rootsHere(store, stateRoot);
}

/** @param maxNodes trie nodes in memory, of blocks that are stored */
export function rootsHere(store: ChainDatabase, stateRoot: Uint8Array, maxNodes?: number): StateRoots {
  const builder = new GroupRootsBuilder(store, stateRoot, maxNodes);
  return {
    add: (number, packed) => builder.add(number, packed),
    seal: () => Promise.resolve(builder.seal()),
    committed: () => builder.committed(),
    close: () => Promise.resolve(),
  };
}

class RootThread implements StateRoots {
  readonly #worker: Worker;
  readonly #pending: { readonly resolve: (roots: GroupRoots) => void; readonly reject: (error: unknown) => void }[] = [];
  #error: Error | undefined;

  constructor(data: RootThreadData) {
    this.#worker = new Worker(new URL("./root-worker.js", import.meta.url), {
      workerData: data,
      resourceLimits: { maxYoungGenerationSizeMb: YOUNG_GENERATION_MB },
    });
    this.#worker.on("message", (reply: RootReply) => {
      const waiting = this.#pending.shift();
      if (reply.kind === "failed") waiting?.reject(reply.error);
      else {
        const blocks = reply.blocks.map(({ stateRoot, storageRoots }) => ({ stateRoot, storageRoots: new Map(storageRoots) }));
        waiting?.resolve({ blocks, nodeRows: reply.nodeRows });
      }
    });
    this.#worker.on("error", (error: Error) => this.#fail(error));
    this.#worker.on("exit", () => this.#fail(new Error("the thread of state roots has ended")));
  }

  #fail(error: Error): void {
    this.#error ??= error;
    for (const { reject } of this.#pending.splice(0)) reject(this.#error);
  }

  #post(request: RootRequest, transfer: ArrayBuffer[] = []): void {
    if (this.#error === undefined) this.#worker.postMessage(request, transfer);
  }

  add(number: number, packed: Uint8Array<ArrayBuffer>): void {
    this.#post({ kind: "add", number, packed }, [packed.buffer]);
  }

  seal(): Promise<GroupRoots> {
    if (this.#error !== undefined) return Promise.reject(this.#error);
    this.#post({ kind: "seal" });
    return new Promise((resolve, reject) => {
      this.#pending.push({ resolve, reject });
    });
  }

  committed(): void {
    this.#post({ kind: "committed" });
  }

  async close(): Promise<void> {
    await this.#worker.terminate();
  }
}
