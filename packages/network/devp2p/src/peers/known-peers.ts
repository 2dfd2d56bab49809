import { type Clock, LruCache } from "@rnode/primitives";
import { type Enode, enodeText, parseEnode } from "../enode.ts";
import type { PeerFile } from "./peer-file.ts";

export interface KnownPeer {
  readonly enode: string;
  /** when it was last connected */
  readonly seenMs: number;
}

const MAX_KNOWN = 128;
const FORGOTTEN_AFTER_MS = 14 * 24 * 3_600_000;

/**
 * Peers of the chain that this node dialled: the first nodes of the next start. Inbound peers are not stored, so an attacker
 * cannot choose the first nodes.
 */
export class KnownPeers {
  readonly #file: PeerFile<KnownPeer>;
  readonly #clock: Clock;
  readonly #peers = new LruCache<string, { readonly enode: Enode; seenMs: number }>(MAX_KNOWN);
  #isChanged = false;

  constructor(file: PeerFile<KnownPeer>, clock: Clock) {
    this.#file = file;
    this.#clock = clock;
    for (const { enode: text, seenMs } of file.load().toSorted((a, b) => a.seenMs - b.seenMs)) {
      if (clock.unixMs() - seenMs > FORGOTTEN_AFTER_MS) continue;
      const enode = parseEnode(text);
      this.#peers.set(enode.id, { enode, seenMs });
    }
  }

  /** The latest one last. */
  list(): readonly Enode[] {
    return [...this.#peers.values()].map(({ enode }) => enode);
  }

  /** We dialled it, and it is connected. */
  add(enode: Enode): void {
    this.#peers.set(enode.id, { enode, seenMs: this.#clock.unixMs() });
    this.#isChanged = true;
  }

  /** It is connected, or was until now. */
  touch(id: string): void {
    const known = this.#peers.get(id);
    if (known !== undefined) this.add(known.enode);
  }

  forget(id: string): void {
    if (this.#peers.delete(id)) this.#isChanged = true;
  }

  /** Writes changes to the file. */
  save(): void {
    if (!this.#isChanged) return;
    this.#isChanged = false;
    this.#file.save([...this.#peers.values()].map(({ enode, seenMs }) => ({ enode: enodeText(enode), seenMs })));
  }
}

/** @returns `undefined`: invalid */
export function parseKnownPeer(value: unknown): KnownPeer | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  const { enode, seenMs } = value as Partial<Record<keyof KnownPeer, unknown>>;
  if (typeof enode !== "string" || typeof seenMs !== "number") return undefined;
  parseEnode(enode); // the file treats an error as an unreadable line
  return { enode, seenMs };
}
