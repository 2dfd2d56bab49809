import { bytesToHex, type Hex } from "@rnode/primitives";
import { Channel, type Frame, type L2BlockRef } from "@rnode/protocol";
import type { L1Position } from "../l1/l1-traversal.ts";
import type { ChannelEvent, DerivationObserver } from "../observer.ts";
import { AGAIN, type Pull, type Source, type Stage } from "../pull.ts";
import type { RawChannel } from "./raw-channel.ts";

/** Before Holocene: channels whose frames arrive in any order, at any time. Spec: docs/protocol/02-derivation.md#channel-bank */
export class ChannelBank implements Stage<RawChannel> {
  readonly #position: L1Position;
  readonly #previous: Source<Frame>;
  readonly #observer: DerivationObserver;
  /** in the order of their first frames */
  readonly #channels = new Map<Hex, Channel>();

  constructor(position: L1Position, previous: Source<Frame>, observer: DerivationObserver) {
    this.#position = position;
    this.#previous = previous;
    this.#observer = observer;
  }

  reset(): void {
    this.#channels.clear();
  }

  async next(l2SafeHead: L2BlockRef): Promise<Pull<RawChannel>> {
    const read = this.#read();
    if (read !== undefined) return read;
    const pulled = await this.#previous.next(l2SafeHead);
    if (pulled.kind !== "value") return pulled;
    this.#ingest(pulled.value);
    return AGAIN;
  }

  /** A channel that is ready; `again` after the first channel timed out and was dropped; undefined if more frames are needed. */
  #read(): Pull<RawChannel> | undefined {
    const [first] = this.#channels.values();
    if (first === undefined) return undefined;
    if (this.#isTimedOut(first)) {
      this.#remove(first, "timed-out");
      return AGAIN;
    }
    const candidates = this.#position.rules.readsChannelsOutOfOrder ? this.#channels.values() : [first];
    for (const channel of candidates) {
      if (!channel.isReady || this.#isTimedOut(channel)) continue;
      this.#remove(channel, "ready");
      return { kind: "value", value: { id: channel.idHex, content: channel.content() } };
    }
    return undefined;
  }

  #ingest(frame: Frame): void {
    const { origin: block } = this.#position;
    const id = bytesToHex(frame.channelId);
    let channel = this.#channels.get(id);
    if (channel === undefined) {
      channel = new Channel(frame.channelId, block.number, false);
      this.#channels.set(id, channel);
      this.#tell(channel, "opened");
    }
    if (this.#isTimedOut(channel)) {
      this.#observer.onFrameDropped({ block, frame, reason: "channel-timed-out" });
      return;
    }
    const added = channel.add(frame);
    if (added.kind === "dropped") {
      this.#observer.onFrameDropped({ block, frame, reason: added.reason });
      return;
    }
    this.#prune();
  }

  #prune(): void {
    let total = 0;
    for (const channel of this.#channels.values()) total += channel.sizeBytes;
    for (const oldest of this.#channels.values()) {
      if (total <= this.#position.rules.maxChannelBankBytes) return;
      total -= oldest.sizeBytes;
      this.#remove(oldest, "pruned");
    }
  }

  #isTimedOut(channel: Channel): boolean {
    return channel.isTimedOut(this.#position.origin.number, this.#position.rules.channelTimeoutL1Blocks);
  }

  #remove(channel: Channel, event: ChannelEvent): void {
    this.#channels.delete(channel.idHex);
    this.#tell(channel, event);
  }

  #tell(channel: Channel, event: ChannelEvent): void {
    const { origin: block } = this.#position;
    this.#observer.onChannel({ block, channelId: channel.idHex, event, sizeBytes: channel.sizeBytes });
  }
}
