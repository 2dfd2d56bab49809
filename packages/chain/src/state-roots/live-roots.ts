import type { StateChanges } from "@rnode/evm";
import { changeCount } from "@rnode/storage";
import { type AwaitedAnswer, hasThreads, type ThreadOverrides, WorkerHost } from "../worker-host/worker-host.ts";
import type { RootQuestion } from "./live-roots-builder.ts";
import { packChanges } from "./packed-changes.ts";
import { PackedUpdate } from "./packed-update.ts";

export interface LiveRootsData {
  /** of the database */
  readonly folder: string;
  readonly maxNodes: number;
}

/** Of `packUpdate`; undefined: it cannot tell. */
export type LiveRootsAnswer = Uint8Array<ArrayBuffer> | undefined;

/** Somebody who answers questions while the caller goes on. */
export interface RootAnswers {
  /** false: not yet, or not any more */
  readonly isReady: boolean;
  /** trie nodes in its memory */
  readonly nodeCount: number;
  /** @param question its `changes` are not used by the caller afterwards */
  ask(question: RootQuestion): void;
  /** Waits for the answer to the last question; what is not waited for is dropped. @returns undefined: there is none */
  answer(): Uint8Array | undefined;
  close(): Promise<void>;
}

/**
 * Changed accounts and slots from which on a block's root is made in the thread. Measured: the way there and back takes 0.1 ms, and packing what
 * goes and what comes is a third of the work. So 100 changed accounts take the caller 0.7 ms here and 0.8 there, 300 1.9 ms either way, of which 1.5
 * and 0.6 are its CPU time, 1000 5.3 ms either way (5.3 and 1.8); there, receipts and transactions are hashed meanwhile.
 */
const MIN_CHANGES = 256;
/** So many smaller blocks in a row, and the thread is left alone. PERF: with every change of place nodes are read from the database again. */
const SMALL_BLOCKS = 64;

/** A state root that is on its way. */
export interface PendingRoot {
  /** undefined: it has to be made here */
  wait(): PackedUpdate | undefined;
}

/**
 * State roots of blocks, while the caller makes what else a header has. Small blocks, and all while the thread is not there, are the
 * caller's.
 */
export class LiveRoots {
  readonly #start: () => RootAnswers;
  readonly #minChanges: number;
  #answers: RootAnswers | undefined;
  #isOn = false;
  #smallBlocks = 0;

  /** @param minChanges accounts and slots of a block that is not small */
  constructor(start: () => RootAnswers, minChanges = MIN_CHANGES) {
    this.#start = start;
    this.#minChanges = minChanges;
  }

  /** @returns undefined: the root has to be made here */
  begin(question: Omit<RootQuestion, "changes">, changes: StateChanges): PendingRoot | undefined {
    if (!this.#isWorthwhile(changes)) return undefined;
    const answers = (this.#answers ??= this.#start());
    if (!answers.isReady) return undefined;
    answers.ask({ ...question, changes: packChanges(changes) });
    return {
      wait() {
        const packed = answers.answer();
        return packed === undefined ? undefined : new PackedUpdate(packed);
      },
    };
  }

  #isWorthwhile(changes: StateChanges): boolean {
    if (changeCount(changes) >= this.#minChanges) {
      this.#isOn = true;
      this.#smallBlocks = 0;
    } else if (this.#isOn && ++this.#smallBlocks === SMALL_BLOCKS) {
      this.#isOn = false;
    }
    return this.#isOn;
  }

  /** Trie nodes in the thread's memory. */
  get nodeCount(): number {
    return this.#answers?.nodeCount ?? 0;
  }

  async close(): Promise<void> {
    await this.#answers?.close();
  }
}

/**
 * Where the process has a core for it.
 *
 * @param folder of the database
 * @param minChanges as of `LiveRoots`
 */
export function startLiveRoots(
  folder: string,
  maxNodes: number,
  minChanges?: number,
  overrides: ThreadOverrides = {},
): LiveRoots | undefined {
  if (overrides.program === undefined && !hasThreads(import.meta.url)) return undefined;
  return new LiveRoots(() => new RootsThread({ folder, maxNodes }, overrides), minChanges);
}

/** A thread that does not answer in this time is given up. */
const MAX_WAIT_MS = 3000;
/** PERF: a small young generation copies what is garbage a moment later. */
const YOUNG_GENERATION_MB = 32;

/** The caller waits without its event loop: a block is executed in one synchronous run. */
class RootsThread implements RootAnswers {
  readonly #host: WorkerHost<RootQuestion, LiveRootsAnswer>;
  #asked: AwaitedAnswer<LiveRootsAnswer> | undefined;

  constructor(data: LiveRootsData, overrides: ThreadOverrides) {
    const program = new URL("./live-roots-worker.js", import.meta.url);
    this.#host = new WorkerHost({ program, data, youngGenerationMb: YOUNG_GENERATION_MB, ...overrides });
  }

  get isReady(): boolean {
    return this.#host.start();
  }

  get nodeCount(): number {
    return this.#host.gauge;
  }

  ask(question: RootQuestion): void {
    this.#asked = this.#host.askToWait(question, [question.changes.buffer as ArrayBuffer], MAX_WAIT_MS);
  }

  answer(): Uint8Array | undefined {
    return this.#asked?.wait();
  }

  async close(): Promise<void> {
    await this.#host.close();
  }
}
