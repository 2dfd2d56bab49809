import type { StateChanges } from "@rnode/evm";
import { bytesToHex } from "@rnode/primitives";
import type { Transaction } from "@rnode/protocol";
import { type ChainDatabase, TouchedKeys } from "@rnode/storage";
import { hasThreads, type ThreadOverrides, WorkerHost } from "@rnode/threads";
import { addressesIn, SlotPatterns } from "./slot-patterns.ts";

export interface ReadAheadData {
  /** folder of the database */
  readonly folder: string;
}

/** A thread that reads keys (`TouchedKeys`). */
export interface TouchingThread {
  /** false: not yet, or no longer */
  readonly isReady: boolean;
  touch(keys: Uint8Array<ArrayBuffer>): Promise<unknown>;
  close(): Promise<void>;
}

/** Most of the time they wait for the disk, each for one page. */
const THREADS = 4;
/** Of one block; the others are read when they are needed. */
const MAX_KEYS = 8192;
/** A thread that is so far behind is of no use to the next block. */
const MAX_WAITING = 4;

/**
 * Prefetches the state that a block is likely to touch, while its senders are recovered and while it is executed, so that
 * execution, state root and commit do not wait for single disk reads. A wrong guess costs one read; a missed one costs nothing
 * extra.
 */
export class ReadAhead {
  readonly #threads: readonly { readonly thread: TouchingThread; waiting: number }[];
  readonly #patterns = new SlotPatterns();

  constructor(threads: readonly TouchingThread[]) {
    this.#threads = threads.map((thread) => ({ thread, waiting: 0 }));
  }

  /** Reads what follows from the transactions themselves. */
  receivers(transactions: readonly Transaction[]): void {
    const keys = new DistinctKeys();
    for (const transaction of transactions) {
      const { to, data } = transaction;
      if (to !== undefined) {
        keys.account(to);
        for (const address of addressesIn(data)) {
          keys.account(address);
          this.#patterns.slotsFor(to, address, (contract, slot) => keys.slot(contract, slot));
        }
      }
      if (!("accessList" in transaction)) continue;
      for (const { address, storageKeys } of transaction.accessList) {
        keys.account(address);
        for (const slot of storageKeys) keys.slot(address, slot);
      }
    }
    this.#touch(keys.list);
  }

  /** Reads what follows from the senders, once they are known. */
  senders(transactions: readonly Transaction[], senders: readonly Uint8Array[]): void {
    const keys = new DistinctKeys();
    for (const [index, sender] of senders.entries()) {
      keys.account(sender);
      const { to, data } = transactions[index]!;
      if (to !== undefined && data.length > 0) this.#patterns.slotsFor(to, sender, (contract, slot) => keys.slot(contract, slot));
    }
    this.#touch(keys.list);
  }

  learn(transactions: readonly Transaction[], senders: readonly Uint8Array[], changes: StateChanges): void {
    this.#patterns.learn(transactions, senders, changes);
  }

  /** Adjacent keys go to different threads, so that the first keys are read first. */
  #touch(list: readonly Key[]): void {
    const free = this.#threads.filter(({ thread, waiting }) => thread.isReady && waiting < MAX_WAITING);
    for (const [index, place] of free.entries()) {
      const keys = new TouchedKeys();
      for (let i = index; i < list.length && i < MAX_KEYS; i += free.length) {
        const { address, slot } = list[i]!;
        if (slot === undefined) keys.addAccount(address);
        else keys.addSlot(address, slot);
      }
      if (keys.count === 0) return;
      place.waiting++;
      void place.thread.touch(keys.take()).finally(() => place.waiting--);
    }
  }

  async close(): Promise<void> {
    await Promise.all(this.#threads.map(({ thread }) => thread.close()));
  }
}

interface Key {
  readonly address: Uint8Array;
  readonly slot: Uint8Array | undefined;
}

class DistinctKeys {
  readonly list: Key[] = [];
  readonly #accounts = new Set<string>();

  account(address: Uint8Array): void {
    const key = bytesToHex(address);
    if (this.#accounts.has(key)) return;
    this.#accounts.add(key);
    this.list.push({ address, slot: undefined });
  }

  slot(address: Uint8Array, slot: Uint8Array): void {
    this.list.push({ address, slot });
  }
}

/** Undefined if the database fits into memory, or if there are no threads. */
export function startReadAhead(
  store: Partial<Pick<ChainDatabase, "folder" | "pageReading">>,
  overrides: ThreadOverrides = {},
): ReadAhead | undefined {
  const { folder, pageReading } = store;
  if (folder === undefined || pageReading?.because !== "file is large for the memory") return undefined;
  if (overrides.program === undefined && !hasThreads(import.meta.url)) return undefined;
  const program = new URL("./read-ahead-worker.js", import.meta.url);
  const data: ReadAheadData = { folder };
  return new ReadAhead(
    Array.from({ length: THREADS }, () => {
      const host = new WorkerHost<Uint8Array, true>({ program, data, youngGenerationMb: 4, ...overrides });
      host.start(); // so that it is there when the first block comes
      return {
        get isReady() {
          return host.start();
        },
        touch: (keys) => host.ask(keys, [keys.buffer]),
        close: () => host.close(),
      };
    }),
  );
}
