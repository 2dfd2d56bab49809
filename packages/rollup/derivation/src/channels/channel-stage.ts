import type { Frame, L2BlockRef } from "@rnode/protocol";
import type { L1Position } from "../l1/l1-traversal.ts";
import type { DerivationObserver } from "../observer.ts";
import type { PipelineStage, Pull, Source } from "../pull.ts";
import { ChannelAssembler } from "./channel-assembler.ts";
import { ChannelBank } from "./channel-bank.ts";
import type { RawChannel } from "./raw-channel.ts";

/** Complete channels: from the channel bank before Holocene, from the assembler from then on. */
export class ChannelStage implements PipelineStage<RawChannel> {
  readonly #position: L1Position;
  readonly #bank: ChannelBank;
  readonly #assembler: ChannelAssembler;

  constructor(position: L1Position, previous: Source<Frame>, observer: DerivationObserver) {
    this.#position = position;
    this.#bank = new ChannelBank(position, previous, observer);
    this.#assembler = new ChannelAssembler(position, previous, observer);
  }

  reset(): void {
    this.#bank.reset();
    this.#assembler.reset();
  }

  activateStrictOrder(): void {
    this.reset();
  }

  next(l2SafeHead: L2BlockRef): Promise<Pull<RawChannel>> {
    return (this.#position.rules.hasStrictOrder ? this.#assembler : this.#bank).next(l2SafeHead);
  }
}
