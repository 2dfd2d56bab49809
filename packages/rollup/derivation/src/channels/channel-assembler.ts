import { Channel, type Frame, type L2BlockRef } from "@rnode/protocol";
import type { L1Position } from "../l1/l1-traversal.ts";
import type { ChannelEvent, DerivationObserver, FrameDropReason } from "../observer.ts";
import { AGAIN, type Pull, type Source, type Stage } from "../pull.ts";
import type { RawChannel } from "./raw-channel.ts";

/** From Holocene on: one channel at a time, its frames in order. Spec: docs/protocol/02-derivation.md#channel-assembler */
export class ChannelAssembler implements Stage<RawChannel> {
  readonly #position: L1Position;
  readonly #previous: Source<Frame>;
  readonly #observer: DerivationObserver;
  #channel: Channel | undefined;

  constructor(position: L1Position, previous: Source<Frame>, observer: DerivationObserver) {
    this.#position = position;
    this.#previous = previous;
    this.#observer = observer;
  }

  reset(): void {
    this.#channel = undefined;
  }

  async next(l2SafeHead: L2BlockRef): Promise<Pull<RawChannel>> {
    const { origin, rules } = this.#position;
    if (this.#channel?.isTimedOut(origin.number, rules.channelTimeoutL1Blocks)) this.#close("timed-out");
    const pulled = await this.#previous.next(l2SafeHead);
    if (pulled.kind !== "value") return pulled;
    return this.#ingest(pulled.value);
  }

  #ingest(frame: Frame): Pull<RawChannel> {
    const { origin: block, rules } = this.#position;
    const dropFrame = (reason: FrameDropReason): Pull<RawChannel> => {
      this.#observer.onFrameDropped({ block, frame, reason });
      return AGAIN;
    };
    if (frame.number === 0) {
      if (this.#channel !== undefined) this.#close("replaced");
      this.#channel = new Channel(frame.channelId, block.number, true);
      this.#tell(this.#channel, "opened");
    }
    const channel = this.#channel;
    if (channel === undefined) return dropFrame("no-channel");
    const added = channel.add(frame);
    if (added.kind === "dropped") return dropFrame(added.reason);
    if (channel.sizeBytes > rules.maxRlpBytesPerChannel) {
      this.#close("too-large");
      return AGAIN;
    }
    if (!channel.isReady) return AGAIN;
    this.#close("ready");
    return { kind: "value", value: { id: channel.idHex, content: channel.content() } };
  }

  #close(event: ChannelEvent): void {
    if (this.#channel !== undefined) this.#tell(this.#channel, event);
    this.#channel = undefined;
  }

  #tell(channel: Channel, event: ChannelEvent): void {
    const { origin: block } = this.#position;
    this.#observer.onChannel({ block, channelId: channel.idHex, event, sizeBytes: channel.sizeBytes });
  }
}
