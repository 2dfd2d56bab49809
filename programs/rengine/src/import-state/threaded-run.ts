import {
  ChainError,
  type ComputedRoots,
  type RowCounts,
  type SharedState,
  type SortedStateOptions,
  unpackWrites,
} from "@rnode/chain";
import { bytesToHex } from "@rnode/primitives";
import type { GenesisRows, StateRun } from "@rnode/storage";
import { type AwaitedAnswer, WorkerHost } from "@rnode/threads";

/** A sorted state that another thread can read. */
export type SharedSource = { readonly kind: "reth"; readonly folder: string } | ({ readonly kind: "rows" } & SharedState);

export interface RunStart extends Pick<SortedStateOptions, "id" | "account"> {
  readonly source: SharedSource;
}

export interface RunQuestion {
  /** of an earlier run; counts in the first question */
  readonly progress?: Uint8Array | undefined;
}

export type RunPart =
  | {
      readonly kind: "rows";
      readonly packed: Uint8Array;
      readonly counts: RowCounts;
      /** after these rows */
      readonly progress: Uint8Array | undefined;
      /** with the last rows */
      readonly roots: ComputedRoots | undefined;
    }
  | { readonly kind: "fault"; readonly reason: string };

/** Parts of about a MiB that are ready before they are written. */
const PARTS_AHEAD = 4;
/** A part takes some milliseconds; the first one of a continued run reads over all rows before it. */
const MAX_WAIT_MS = 3_600_000;

/** A `SortedStateRun` in a thread: it reads and hashes while this one writes. */
export class ThreadedRun implements StateRun<GenesisRows> {
  readonly id: Uint8Array;
  readonly #host: WorkerHost<RunQuestion, RunPart>;
  readonly #code: (codeHash: Uint8Array) => Uint8Array | undefined;
  readonly #check: (roots: ComputedRoots) => void;
  #counts: RowCounts = { accounts: 0, slots: 0 };
  #progress: Uint8Array | undefined;

  constructor(
    source: SharedSource,
    code: (codeHash: Uint8Array) => Uint8Array | undefined,
    { id, account, check }: SortedStateOptions,
  ) {
    this.id = id;
    this.#code = code;
    this.#check = check;
    const data: RunStart = { source, id, account };
    const program = new URL("./run-worker.js", import.meta.url);
    this.#host = new WorkerHost({ program, data, maxSilenceMs: MAX_WAIT_MS });
  }

  get counts(): RowCounts {
    return this.#counts;
  }

  progress(): Uint8Array | undefined {
    return this.#progress;
  }

  /** A part with each step. @throws {CodedError} chain/incomplete-state, chain/wrong-state, and what `check` throws */
  *steps(rows: GenesisRows, progress?: Uint8Array): Generator<void> {
    const ask = (question: RunQuestion): AwaitedAnswer<RunPart> => this.#host.askToWait(question, [], MAX_WAIT_MS);
    const ahead = [ask({ progress })];
    for (;;) {
      while (ahead.length < PARTS_AHEAD) ahead.push(ask({}));
      const part = ahead.shift()!.wait();
      if (part === undefined) throw new ChainError("chain/incomplete-state", { reason: "the thread that reads it ended" });
      if (part.kind === "fault") throw new ChainError("chain/wrong-state", { reason: part.reason });
      unpackWrites(part.packed, rows, (codeHash) => rows.code(codeHash, this.#codeOf(codeHash)));
      this.#counts = part.counts;
      this.#progress = part.progress;
      if (part.roots !== undefined) {
        this.#check(part.roots);
        return;
      }
      yield;
    }
  }

  #codeOf(codeHash: Uint8Array): Uint8Array {
    const code = this.#code(codeHash);
    if (code !== undefined) return code;
    throw new ChainError("chain/incomplete-state", { reason: `the code ${bytesToHex(codeHash)} is missing` });
  }

  close(): Promise<void> {
    return this.#host.close();
  }
}
