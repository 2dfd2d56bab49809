import type { ChannelOut } from "@rnode/compression";

/** A channel that wraps its compression, which runs in worker threads, in `work`: the simulated clock stands still meanwhile. */
export function awaitedChannel(out: ChannelOut, work: <T>(work: Promise<T>) => Promise<T>): ChannelOut {
  return {
    id: out.id,
    get inputBytes() {
      return out.inputBytes;
    },
    get readyBytes() {
      return out.readyBytes;
    },
    get full() {
      return out.full;
    },
    addBlock: (block) => work(out.addBlock(block)),
    flush: () => work(out.flush()),
    close: () => work(out.close()),
    nextFrame: (maxFrameBytes) => out.nextFrame(maxFrameBytes),
    destroy: () => out.destroy(),
  };
}
