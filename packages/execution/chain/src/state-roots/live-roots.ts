import type { StateChanges } from "@rnode/evm";
import { changeCount } from "@rnode/storage";
import { type AwaitedAnswer, hasThreads, type ThreadOverrides, WorkerHost } from "@rnode/threads";
import type { RootQuestion } from "./live-roots-builder.ts";
import { packChanges } from "./packed-changes.ts";
import { PackedUpdate } from "./packed-update.ts";

export interface LiveRootsData {
  /** folder of the database */
  readonly folder: string;
  readonly maxNodes: number;
}

/** made by `packUpdate`; undefined: not available */
export type LiveRootsAnswer = Uint8Array<ArrayBuffer> | undefined;

/** Computes roots while the caller continues. */
export interface RootAnswers {
  /** false: not yet, or no longer */
  readonly isReady: boolean;
  /** number of trie nodes in its memory */
  readonly nodeCount: number;
  /** @param question the caller must not use its `changes` afterwards */
  ask(question: RootQuestion): void;
  /** Waits for the answer to the last question. An answer that is not read is dropped. @returns undefined: there is none */
  answer(): Uint8Array | undefined;
  close(): Promise<void>;
}

/**
 * The number of changed accounts and slots from which on the thread computes a block's root. Measured: the round trip takes 0.1 ms, and
 * packing and unpacking is a third of the work. 100 changed accounts take the caller 0.7 ms in line and 0.8 ms with the thread; 300
 * take 1.9 ms either way, of which 1.5 and 0.6 ms are its CPU time; 1000 take 5.3 ms either way (CPU time 5.3 and 1.8 ms). With the
 * thread, receipts and transactions are hashed meanwhile.
 */
const MIN_CHANGES = 256;
/**
 * After this many smaller blocks in a row, the thread is no longer used. PERF: with every switch, nodes are read from the database
 * again.
 */
const SMALL_BLOCKS = 64;

/** A state root that is being computed. */
export interface PendingRoot {
  /** @returns undefined: the root has to be computed in line */
  wait(): PackedUpdate | undefined;
}

/**
 * Computes state roots of blocks in a thread, while the caller computes the other header fields. The caller computes the root itself
 * for small blocks, and whenever the thread is not available.
 */
export class LiveRoots {
  readonly #start: () => RootAnswers;
  readonly #minChanges: number;
  #answers: RootAnswers | undefined;
  #isOn = false;
  #smallBlocks = 0;

  /** @param minChanges from this number of changed accounts and slots on, a block is not small */
  constructor(start: () => RootAnswers, minChanges = MIN_CHANGES) {
    this.#start = start;
    this.#minChanges = minChanges;
  }

  /** @returns undefined: the root has to be computed in line */
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

  /** Number of trie nodes in the thread's memory. */
  get nodeCount(): number {
    return this.#answers?.nodeCount ?? 0;
  }

  async close(): Promise<void> {
    await this.#answers?.close();
  }
}

/**
 * Starts a thread if the process has a core for it.
 *
 * @param folder the folder of the database
 * @param minChanges as for `LiveRoots`
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

/** A thread that does not answer within this time is not used any more. */
const MAX_WAIT_MS = 3000;
/** PERF: a small young generation would copy objects that become garbage a moment later. */
const YOUNG_GENERATION_MB = 32;

/** The caller waits without its event loop, because a block is executed in one synchronous run. */
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
