import type { GenesisState, PackedState, RowCounts } from "@rnode/chain";
import { UserError } from "@rnode/program";
import { RowFile } from "@rnode/storage";
import { hasThreads, WorkerHost } from "@rnode/threads";
import { LineParser, type LinesPart, type ParsedLines } from "./line-parser.ts";

const PART_BYTES = 1 << 20;
/** Parts that are parsed, or wait for it, while this thread sorts the rows of others. */
const MAX_PENDING = 24;

export interface StateLines extends RowCounts {
  /** the state root that the first line names, which nothing is believed of; `undefined`: it names none */
  readonly root: Uint8Array | undefined;
}

interface ReadOptions {
  /** for errors */
  readonly source: string;
  /** for a temporary file */
  readonly folder: string;
  readonly onProgress?: (counts: RowCounts) => void;
}

/**
 * Reads a state from lines of JSON, in bounded memory: `{"root": "0x…"}`, then an object for each account with `address`, `balance`, `nonce`,
 * `code` and `storage` (slot → value), each of which may be absent where it is empty. That is what `op-reth init-state` takes, and what
 * `geth dump --iterative` writes. A thread parses while this one sorts.
 *
 * @throws {UserError} naming the source, the line's number among the objects, and the fault
 */
export async function readStateLines(
  text: AsyncIterable<Uint8Array>,
  state: GenesisState,
  { source, folder, onProgress }: ReadOptions,
): Promise<StateLines> {
  const parse = hasThreads(import.meta.url) ? inThread() : inPlace();
  const rows = new RowsOf(state, folder);
  const pending: Promise<ParsedLines | undefined>[] = [];
  let last: StateLines = { accounts: 0, slots: 0, root: undefined };
  const take = async (): Promise<void> => {
    const parsed = await pending.shift();
    if (parsed === undefined) throw new UserError(`${source}: the thread that parses it ended`);
    if (parsed.kind === "fault") throw new UserError(`${source}: ${parsed.reason}`);
    rows.add(parsed.packed);
    last = { ...parsed.counts, root: parsed.root };
    onProgress?.(last);
  };
  try {
    for await (const part of partsOf(text)) {
      pending.push(parse.part(part));
      if (pending.length === MAX_PENDING) await take();
    }
    pending.push(parse.part(undefined));
    while (pending.length > 0) await take();
    return last;
  } finally {
    rows.close();
    await parse.close();
  }
}

interface Parsing {
  part(bytes: LinesPart): Promise<ParsedLines | undefined>;
  close(): Promise<void>;
}

function inThread(): Parsing {
  const host = new WorkerHost<LinesPart, ParsedLines>({ program: new URL("./line-worker.js", import.meta.url), data: undefined });
  return {
    part: (bytes) => host.ask(bytes, bytes === undefined ? [] : [bytes.buffer as ArrayBuffer]),
    close: () => host.close(),
  };
}

function inPlace(): Parsing {
  const parser = new LineParser();
  return { part: async (bytes) => parser.parse(bytes), close: async () => {} };
}

/** The same bytes in larger parts, each with memory of its own. */
async function* partsOf(text: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let part = new Uint8Array(PART_BYTES);
  let used = 0;
  for await (const piece of text) {
    for (let at = 0; at < piece.length; ) {
      const taken = piece.subarray(at, at + PART_BYTES - used);
      part.set(taken, used);
      used += taken.length;
      at += taken.length;
      if (used < PART_BYTES) continue;
      yield part;
      part = new Uint8Array(PART_BYTES);
      used = 0;
    }
  }
  yield part.subarray(0, used);
}

/** Adds packed rows to a state. Slots whose account is not known yet lie in a temporary file until it is. */
class RowsOf {
  readonly #state: GenesisState;
  readonly #folder: string;
  #open: RowFile | undefined;

  constructor(state: GenesisState, folder: string) {
    this.#state = state;
    this.#folder = folder;
  }

  add(packed: PackedState): void {
    const open = this.#state.addPacked(packed);
    if (packed.owner !== undefined) this.#takeOpen(packed.owner);
    if (open.length === 0) return;
    this.#open ??= new RowFile(this.#folder);
    this.#open.append(open);
  }

  #takeOpen(owner: Uint8Array): void {
    const file = this.#open!;
    file.flush();
    const rows = new Uint8Array(PART_BYTES);
    for (let at = 0; at < file.sizeBytes; at += rows.length) this.#state.addSlots(rows.subarray(0, file.read(rows, at)), owner);
    file.cut(0);
  }

  close(): void {
    this.#open?.close();
  }
}
