import { bytesToHex, equalBytes, type Hex } from "@rnode/primitives";
import { joinBytes } from "../params/byte-cursor.ts";
import type { Frame } from "./frame.ts";

/** Bytes that each stored frame adds to the size of a channel and of the channel bank, besides its data. */
export const CHANNEL_FRAME_ACCOUNTING_BYTES = 200;

/** First byte of a channel compressed with brotli (Fjord). */
export const CHANNEL_VERSION_BROTLI = 1;

export type AddFrameResult =
  | { readonly kind: "added" }
  | { readonly kind: "dropped"; readonly reason: "wrong-channel" | "second-last" | "duplicate" | "out-of-order" | "after-last" };

/** A channel while its frames arrive. Spec: docs/protocol/02-derivation.md#channel-object */
export class Channel {
  readonly id: Uint8Array;
  readonly idHex: Hex;
  /** L1 block in which its first frame was seen */
  readonly openBlockNumber: number;
  readonly #inOrder: boolean;
  readonly #frames = new Map<number, Frame>();
  #sizeBytes = 0;
  #highest = 0;
  /** number of the last frame; `undefined` until it arrives */
  #end: number | undefined;

  /** @param inOrder from Holocene on, every frame must be the next one */
  constructor(id: Uint8Array, openBlockNumber: number, inOrder: boolean) {
    this.id = id;
    this.idHex = bytesToHex(id);
    this.openBlockNumber = openBlockNumber;
    this.#inOrder = inOrder;
  }

  /** Σ (data length + 200) over the frames, with the quirk in `add`. */
  get sizeBytes(): number {
    return this.#sizeBytes;
  }

  add(frame: Frame): AddFrameResult {
    if (!equalBytes(frame.channelId, this.id)) return { kind: "dropped", reason: "wrong-channel" };
    if (frame.isLast && this.#end !== undefined) return { kind: "dropped", reason: "second-last" };
    if (this.#frames.has(frame.number)) return { kind: "dropped", reason: "duplicate" };
    if (this.#inOrder && frame.number > 0 && frame.number !== this.#highest + 1) return { kind: "dropped", reason: "out-of-order" };
    if (this.#end !== undefined && frame.number >= this.#end) return { kind: "dropped", reason: "after-last" };
    if (frame.isLast) {
      this.#end = frame.number;
      if (frame.number < this.#highest) {
        // As in the reference implementations, the sizes of all frames are subtracted, including the kept ones.
        for (const [number, stored] of this.#frames) {
          if (number >= frame.number) this.#frames.delete(number);
          this.#sizeBytes -= frameSize(stored);
        }
        this.#highest = frame.number;
      }
    }
    this.#highest = Math.max(this.#highest, frame.number);
    this.#frames.set(frame.number, frame);
    this.#sizeBytes += frameSize(frame);
    return { kind: "added" };
  }

  /** Whether the last frame and all before it have arrived. */
  get isReady(): boolean {
    // After the last frame, no higher number is stored, so the count suffices.
    return this.#end !== undefined && this.#frames.size === this.#end + 1;
  }

  isTimedOut(l1BlockNumber: number, timeoutL1Blocks: number): boolean {
    return this.openBlockNumber + timeoutL1Blocks < l1BlockNumber;
  }

  /** The frames' data in order. Call it only if the channel is ready. */
  content(): Uint8Array {
    return joinBytes(Array.from({ length: this.#frames.size }, (_, number) => this.#frames.get(number)!.data));
  }
}

function frameSize(frame: Frame): number {
  return frame.data.length + CHANNEL_FRAME_ACCOUNTING_BYTES;
}
