import { asciiToBytes, type Hex } from "@rnode/primitives";
import { UserError } from "@rnode/program";
import { type BlockNode, type Broker, isWhole, type NodeBlock, type StoredEntry } from "./stream-entry.ts";

/** The last block that consumers have. */
type Tip =
  | StoredEntry
  /** the broker has dropped its message, so the block cannot be retracted */
  | { readonly sequence: undefined; readonly number: number; readonly hash: Hex };

/** Publishes the canonical chain: each block once, and a retraction for each block that a reorganisation removes, newest first. */
export class BlockStream {
  readonly #node: BlockNode;
  readonly #broker: Broker;
  readonly #from: number | undefined;
  #genesisHash: Hex = "0x";
  /** of the last message; 0: there is none */
  #sequence = 0;
  #tip: Tip | undefined;
  /** number of the first block, as long as there is no tip */
  #first: number | undefined;

  /** @param from number of the first block of an empty stream; default: the head */
  constructor(node: BlockNode, broker: Broker, from: number | undefined) {
    this.#node = node;
    this.#broker = broker;
    this.#from = from;
  }

  /** Resumes after the last message of the broker. @throws {UserError} the messages are of another chain */
  async load(): Promise<void> {
    this.#genesisHash = await this.#node.genesisHash();
    const last = await this.#broker.last();
    this.#sequence = last?.sequence ?? 0;
    this.#tip = undefined;
    this.#first = this.#from;
    if (last === undefined) return;
    if (last.genesisHash !== this.#genesisHash) {
      throw new UserError(
        `the stream has blocks of the chain that begins with ${last.genesisHash}, but the node's chain begins with ${this.#genesisHash}`,
      );
    }
    if (isWhole(last)) this.#tip = last;
    else if (last.kind === "block") await this.#retract(last);
    else await this.#goToParent(last);
  }

  /** Publishes the next block, or retracts the last one. @returns whether there was anything to do */
  async step(): Promise<boolean> {
    const tip = this.#tip;
    const number = tip === undefined ? (this.#first ??= await this.#node.headNumber()) : tip.number + 1;
    if (number === undefined) return false;
    const head = await this.#node.headNumber();
    const next = head === undefined || number > head ? undefined : await this.#node.block(number);
    if (tip === undefined) {
      if (next !== undefined) await this.#publish(next, true);
      return next !== undefined;
    }
    if (next?.parentHash === tip.hash) {
      await this.#publish(next, false);
      return true;
    }
    // A node that is behind, as one of several behind a balancer may be, says nothing about the tip.
    const canonical = await this.#node.hashAt(tip.number);
    if (canonical === undefined || canonical === tip.hash) return false;
    await this.#retract(tip);
    return true;
  }

  async #publish({ number, hash, parentHash, body }: NodeBlock, isFirst: boolean): Promise<void> {
    const partBytes = await this.#broker.maxBodyBytes();
    const parts = Math.max(1, Math.ceil(body.length / partBytes));
    const entry = { kind: "block", number, hash, parentHash, isFirst, parts, genesisHash: this.#genesisHash } as const;
    for (let part = 1; part <= parts; part++) {
      const piece = body.subarray((part - 1) * partBytes, part * partBytes);
      this.#sequence = await this.#broker.publish({ ...entry, part }, piece, this.#sequence);
    }
    this.#tip = { ...entry, part: parts, sequence: this.#sequence };
  }

  async #retract(tip: Tip): Promise<void> {
    if (tip.sequence === undefined) {
      throw new UserError(
        `a reorganisation has replaced block ${tip.number} ${tip.hash}, whose message the broker has dropped: purge the stream, or begin another one`,
      );
    }
    const { sequence: _, ...entry } = tip;
    const { number, hash, parentHash } = entry;
    const body = asciiToBytes(JSON.stringify({ kind: "retract", block_number: number, block_hash: hash, parent_hash: parentHash }));
    this.#sequence = await this.#broker.publish({ ...entry, kind: "retract", part: 1, parts: 1 }, body, this.#sequence);
    await this.#goToParent(tip);
  }

  async #goToParent({ sequence, number, parentHash, isFirst }: StoredEntry): Promise<void> {
    this.#tip = undefined;
    this.#first = number;
    if (isFirst) return;
    let entry = await this.#broker.before(sequence);
    while (entry !== undefined && !(isWhole(entry) && entry.hash === parentHash)) entry = await this.#broker.before(entry.sequence);
    this.#tip = entry ?? { sequence: undefined, number: number - 1, hash: parentHash };
  }
}

export interface StreamLoop {
  readonly pollMs: number;
  readonly signal: AbortSignal;
  readonly sleep: (ms: number) => Promise<void>;
  readonly onTrouble: (error: unknown) => void;
}

const MAX_BACKOFF_MS = 10_000;

/** Runs until the signal. After any failure it reads again from the broker what consumers have. @throws {UserError} what no retry can mend */
export async function runStream(stream: BlockStream, { pollMs, signal, sleep, onTrouble }: StreamLoop): Promise<void> {
  let isLoaded = false;
  let backoffMs = pollMs;
  while (!signal.aborted) {
    try {
      if (!isLoaded) await stream.load();
      isLoaded = true;
      if (!(await stream.step())) await sleep(pollMs);
      backoffMs = pollMs;
    } catch (error) {
      if (error instanceof UserError) throw error;
      isLoaded = false;
      if (signal.aborted) return;
      onTrouble(error);
      await sleep(backoffMs);
      backoffMs = Math.min(2 * backoffMs, MAX_BACKOFF_MS);
    }
  }
}
