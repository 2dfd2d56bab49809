import type { ChainDatabase } from "@rnode/storage";
import type { RootAnswers } from "../state-roots/live-roots.ts";
import { LiveRootsBuilder, type RootQuestion } from "../state-roots/live-roots-builder.ts";

/** Does the work of the root thread in the calling thread, and can simulate all failures of that thread. */
export class RootAnswersHere implements RootAnswers {
  isReady = true;
  asked = 0;
  answered = 0;
  closed = 0;
  /** the next question ends it */
  isDying = false;
  readonly #store: ChainDatabase;
  readonly #maxNodes: number;
  #builder: LiveRootsBuilder;
  #answer: Uint8Array | undefined;

  constructor(store: ChainDatabase, maxNodes: number) {
    this.#store = store;
    this.#maxNodes = maxNodes;
    this.#builder = this.#started();
  }

  #started(): LiveRootsBuilder {
    const store = this.#store;
    return new LiveRootsBuilder(
      {
        trieNodesAt: (number) => store.trieNodesAt(number),
        readCanonicalHash: (number) => store.readCanonicalHash(number),
        refresh: () => undefined, // the writer sees its own writes
      },
      this.#maxNodes,
    );
  }

  restart(): void {
    this.#builder = this.#started();
    this.isReady = true;
    this.isDying = false;
  }

  get nodeCount(): number {
    return this.#builder.nodeCount;
  }

  ask(question: RootQuestion): void {
    this.asked++;
    this.#answer = undefined;
    if (this.isDying) {
      this.isReady = false;
      return;
    }
    try {
      this.#answer = this.#builder.update(question);
    } catch {
      // as the thread does
    }
  }

  answer(): Uint8Array | undefined {
    if (this.#answer !== undefined) this.answered++;
    return this.#answer;
  }

  close(): Promise<void> {
    this.closed++;
    return Promise.resolve();
  }
}
