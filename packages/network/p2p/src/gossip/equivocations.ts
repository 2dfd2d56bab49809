import { bytesToHex, type Hex, keccak256 } from "@rnode/primitives";
import type { Equivocation } from "../equivocation.ts";
import { splitGossipMessage } from "../wire/gossip-message.ts";

/** More than the blocks whose age gossip accepts, at a block time of one second. */
const MAX_RECENT = 128;
const MAX_RECENT_BYTES = 16 * 1024 * 1024;
const MAX_FOUND = 16;
const MAX_FOUND_BYTES = 32 * 1024 * 1024;
const MAX_LISTED_BYTES = 4 * 1024 * 1024;

interface Noted {
  readonly hash: Hex;
  readonly from: string;
  /** decompressed */
  readonly message: Uint8Array;
}

/**
 * Keeps the first two blocks that were accepted at one height, with their signatures: the proof that the signer made both. Which of them is
 * the honest one is not known here, so no sender is blamed. Bounded in heights and bytes; the oldest go first.
 */
export class Equivocations {
  /** the first block of each height, oldest first */
  private readonly recent = new Map<number, Noted>();
  private recentBytes = 0;
  private readonly found = new Map<number, readonly Noted[]>();

  /**
   * Notes a block that was accepted, new at its height.
   *
   * @param from peer id
   * @returns both blocks if this is the second of its height; `further` for each one after that
   */
  note(number: number, hash: Hex, from: string, message: Uint8Array): readonly [Noted, Noted] | "further" | undefined {
    if (this.found.has(number)) return "further";
    const noted = { hash, from, message };
    const first = this.recent.get(number);
    if (first?.hash === hash) return undefined;
    if (first === undefined) {
      this.recent.set(number, noted);
      this.recentBytes += message.length;
      while (this.recent.size > MAX_RECENT || (this.recentBytes > MAX_RECENT_BYTES && this.recent.size > 1)) this.forgetOldest();
      return undefined;
    }
    this.recent.delete(number);
    this.recentBytes -= first.message.length;
    this.found.set(number, [first, noted]);
    const isFull = (): boolean => this.found.size > 1 && (this.found.size > MAX_FOUND || this.foundBytes > MAX_FOUND_BYTES);
    while (isFull()) this.found.delete([...this.found.keys()][0]!);
    return [first, noted];
  }

  /** Newest first. Messages beyond 4 MiB in all are left out: signature and payload hash stay. */
  list(): readonly Equivocation[] {
    let bytes = 0;
    const entry = ({ hash, from, message }: Noted): Equivocation["blocks"][number] => {
      const { signature, body } = splitGossipMessage(message);
      bytes += message.length;
      return {
        hash,
        from,
        signature: bytesToHex(signature),
        payloadHash: bytesToHex(keccak256(body)),
        message: bytes <= MAX_LISTED_BYTES ? bytesToHex(message) : null,
      };
    };
    return [...this.found].reverse().map(([number, blocks]) => ({ number, blocks: blocks.map(entry) }));
  }

  private get foundBytes(): number {
    return [...this.found.values()].flat().reduce((sum, { message }) => sum + message.length, 0);
  }

  private forgetOldest(): void {
    const [number, { message }] = [...this.recent][0]!;
    this.recent.delete(number);
    this.recentBytes -= message.length;
  }
}
