import { statfsSync } from "node:fs";
import type { Logger } from "@rnode/observe";
import type { FetchedRows } from "@rnode/sync";
import { StateSyncError } from "./state-sync-error.ts";

/** A row that is kept until the new database is complete. Measured with 2 million accounts: 103. */
const KEPT_ROW_BYTES = 120;
/** A row of the new database, with its part of the trie. */
const ROW_BYTES = 200;
/** Left free, because a full disk stops the client and the system. */
const RESERVE_BYTES = 1 << 30;
/** The first rows say enough. */
const FIRST_SHARE = 0.01;
/** A smaller need is not worth a line. */
const MIN_SAID_BYTES = 128 << 20;

/** What a state will take of the disk, by its rows so far: keys are hashes, so accounts are spread evenly. Slots of a large contract come at once. */
export class DiskEstimate {
  readonly #folder: string;
  readonly #log: Logger;
  readonly #freeBytes: () => number;
  #nextShare = FIRST_SHARE;
  #bytes = 0;

  constructor(folder: string, log: Logger, freeBytes = (): number => freeBytesOf(folder)) {
    this.#folder = folder;
    this.#log = log;
    this.#freeBytes = freeBytes;
  }

  /** Of all rows, in both databases; 0: it is not known yet. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Checks each time that twice as much is fetched. @throws {StateSyncError} state-sync/no-room */
  at({ accounts, slots, share }: FetchedRows): void {
    if (share < this.#nextShare) return;
    this.#nextShare = 2 * share;
    const rows = accounts + slots;
    this.#bytes = Math.round((rows / share) * (KEPT_ROW_BYTES + ROW_BYTES));
    const need = this.#bytes - rows * KEPT_ROW_BYTES;
    const free = this.#freeBytes();
    if (this.#bytes < MIN_SAID_BYTES) return;
    const [needMiB, freeMiB] = [mebibytes(need), mebibytes(free)];
    this.#log.info("the state takes about that much of the disk", { rows: Math.round(rows / share), needMiB, freeMiB });
    if (need + RESERVE_BYTES > free) throw new StateSyncError("state-sync/no-room", { folder: this.#folder, needMiB, freeMiB });
  }
}

function freeBytesOf(folder: string): number {
  const { bavail, bsize } = statfsSync(folder);
  return bavail * bsize;
}

const mebibytes = (bytes: number): number => Math.ceil(bytes / 2 ** 20);
