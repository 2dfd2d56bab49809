import { HeadPoller, type HeadPollerDeps, type HeadPollerOptions, type L1BlockLabel } from "@rnode/l1";
import type { L1BlockRef } from "@rnode/protocol";

type OnChange = HeadPollerDeps["onChange"];

/** L1's heads, polled once for all chains of a set. A chain that starts later gets what is known. */
export class SharedHeads {
  private readonly options: HeadPollerOptions;
  private readonly deps: Omit<HeadPollerDeps, "onChange">;
  private readonly known = new Map<L1BlockLabel, L1BlockRef>();
  private readonly followers = new Set<OnChange>();
  private poller: HeadPoller | undefined;

  constructor(options: HeadPollerOptions, deps: Omit<HeadPollerDeps, "onChange">) {
    this.options = options;
    this.deps = deps;
  }

  /** What a node has in place of a poller of its own. */
  readonly follow = (onChange: OnChange): Pick<HeadPoller, "start" | "close"> => ({
    start: () => {
      this.followers.add(onChange);
      for (const [label, block] of this.known) onChange(label, block);
      if (this.poller !== undefined) return;
      const note: OnChange = (label, block) => {
        this.known.set(label, block);
        for (const follower of this.followers) follower(label, block);
      };
      this.poller = new HeadPoller(this.options, { ...this.deps, onChange: note });
      this.poller.start();
    },
    close: async () => {
      this.followers.delete(onChange);
      if (this.followers.size > 0) return;
      await this.poller?.close();
      this.poller = undefined;
    },
  });
}
