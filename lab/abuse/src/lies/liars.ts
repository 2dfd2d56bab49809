import type { DevnetOptions } from "@rnode/devnet";
import type { Liar } from "./campaign.ts";
import { LyingProxy } from "./proxy.ts";
import type { VictimName } from "./victim.ts";

/** Proxies before the victim's L1, beacon node and engine, honest by default. */
export interface Liars {
  readonly liars: readonly Liar[];
  /** puts them between the victim and the endpoints of its command line */
  readonly changeArgs: DevnetOptions["changeArgs"];
  readonly close: () => Promise<void>;
}

export async function createLiars(victim: VictimName = "verifier"): Promise<Liars> {
  const [l1, beacon, engine] = [await LyingProxy.listen(), await LyingProxy.listen(), await LyingProxy.listen()];
  const between = (arg: string): string => through(through(through(arg, "--l1=", l1), "--l1.beacon=", beacon), "--l2=", engine);
  return {
    liars: [
      { name: "L1", proxy: l1 },
      { name: "beacon", proxy: beacon },
      { name: "engine", proxy: engine },
    ],
    changeArgs: (program, args) => (program === `${victim}Node` ? args.map(between) : args),
    close: async () => {
      await Promise.all([l1.close(), beacon.close(), engine.close()]);
    },
  };
}

function through(arg: string, option: string, proxy: LyingProxy): string {
  if (!arg.startsWith(option)) return arg;
  proxy.upstream = arg.slice(option.length);
  return option + proxy.url;
}
