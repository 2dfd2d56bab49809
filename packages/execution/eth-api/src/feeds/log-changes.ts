import { JsonText } from "@rnode/jsonrpc";
import { LogMatcher } from "@rnode/storage";
import { giveBackLogWriter, takeLogWriter } from "../json/parts-writer.ts";
import { mayHaveLogs } from "../logs/log-match.ts";
import { isWithinRange, type LogFilter } from "../params/log-filter.ts";
import type { BlockChange, BlockJournal } from "./block-journal.ts";

/** How long to read before other requests have their turn. */
const SLICE_MS = 20;
/** An answer that has become longer ends with the block; the rest is for the next poll. */
const MAX_ANSWER_BYTES = 16 * 1024 * 1024;

/**
 * The logs that one poll returns: those of blocks that joined the chain, and again, with `removed`, those of blocks that left it.
 */
export class LogChanges {
  readonly #journal: BlockJournal;
  readonly #matcher: LogMatcher;
  readonly #filter: LogFilter;
  readonly #changes: readonly BlockChange[];
  #index = 0;
  readonly #start: number;
  /** of each block: its logs, separated by commas */
  readonly #texts: string[] = [];
  #bytes = 0;

  /** @param changes those of the journal from position `start` on */
  constructor(journal: BlockJournal, filter: LogFilter, changes: readonly BlockChange[], start: number) {
    this.#journal = journal;
    this.#filter = filter;
    this.#matcher = new LogMatcher(filter);
    this.#changes = changes;
    this.#start = start;
  }

  /** The start position of the next poll. */
  get position(): number {
    return this.#start + this.#index;
  }

  get answer(): JsonText {
    return new JsonText(`[${this.#texts.join(",")}]`);
  }

  /** Works for a while. @returns whether the answer is complete */
  step(): boolean {
    const endMs = performance.now() + SLICE_MS;
    for (; this.#index < this.#changes.length; this.#index++) {
      if (this.#bytes > MAX_ANSWER_BYTES) return true;
      if (performance.now() > endMs) return false;
      if (!this.#add(this.#changes[this.#index]!)) return true;
    }
    return true;
  }

  /** @returns false: the block has left the chain, and the journal does not have that change yet; the next poll returns both */
  #add(change: BlockChange): boolean {
    const isRemoved = change.removed !== undefined;
    if ((!isRemoved && !isWithinRange(this.#filter, change.number)) || !mayHaveLogs(change, this.#filter)) return true;
    const parts = this.#journal.partsOf(change, this.position);
    if (parts === undefined) return false;
    const writer = takeLogWriter().open(parts);
    writer.logs(this.#matcher, isRemoved);
    const text = writer.json.take();
    giveBackLogWriter(writer);
    if (text.length === 0) return true;
    this.#texts.push(text);
    this.#bytes += text.length + 1;
    return true;
  }
}
