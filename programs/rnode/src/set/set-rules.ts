import type { SetRules } from "@rnode/interop";
import { messagesBegin } from "@rnode/protocol";
import { numberAt, type SetChain, timeOf } from "./set-chain.ts";

/** The rules of messages between the chains of a set. */
export const setRules = (chains: readonly Pick<SetChain, "chainId" | "config">[], expiryWindowSec: number): SetRules => ({
  chains: new Map(
    chains.map(({ chainId, config }) => [
      chainId,
      {
        // A chain has no messages before its genesis, so those that name such a time are invalid, not unknown.
        activationSec: Math.max(messagesBegin(config.forkTimes) ?? Number.POSITIVE_INFINITY, config.genesis.l2TimeSec),
        blockTimeSec: config.blockTimeSec,
      },
    ]),
  ),
  expiryWindowSec,
});

/** The number of a chain's first block whose messages can be executed from a time on. */
export function firstMessages(
  rules: SetRules,
  { config, chainId }: Pick<SetChain, "chainId" | "config">,
  timestamp: number,
): number {
  const fromSec = Math.max(rules.chains.get(chainId)!.activationSec, timestamp - rules.expiryWindowSec);
  return Math.max(config.genesis.l2.number, numberAt(config, fromSec));
}

/** When the first chain of a set has Lagoon and all chains exist, in seconds. */
export const startOfSet = (configs: readonly SetChain["config"][]): number =>
  Math.max(
    Math.min(...configs.map(({ forkTimes }) => messagesBegin(forkTimes) ?? Number.POSITIVE_INFINITY)),
    ...configs.map(({ genesis }) => genesis.l2TimeSec),
  );

/** The next time at which a chain of the set has a block. */
export const nextBlockTime = (configs: readonly SetChain["config"][], timestamp: number): number =>
  Math.min(...configs.map((config) => timeOf(config, numberAt(config, timestamp) + 1)));
