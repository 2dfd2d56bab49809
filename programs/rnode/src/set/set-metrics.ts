import type { MetricFactory } from "@rnode/observe";
import type { SetStatus } from "./set-status.ts";

/** Metrics of what the chains of a set have in common. Those of each chain are a node's, with the label `chain`. */
export function observeSet(factory: MetricFactory, status: SetStatus): void {
  const each = (value: (chain: ReturnType<SetStatus["chains"]>[number]) => number | undefined) => () =>
    status.chains().flatMap((chain) => {
      const found = value(chain);
      return found === undefined ? [] : [[{ chain: String(chain.chainId) }, found] as const];
    });
  const labels = ["chain"] as const;
  factory.gaugesOf<{ level: string }>(
    "set_time",
    "Time up to which the messages of all chains of the set were read, are valid, and are verified on L1, in seconds since 1970.",
    ["level"],
    () => Object.entries(status.times()).flatMap(([level, sec]) => (sec === undefined ? [] : [[{ level }, sec] as const])),
  );
  factory.gaugesOf<{ chain: string }>(
    "set_cross_unsafe_number",
    "Number of the newest block of a chain up to which the messages of all chains are valid.",
    labels,
    each(({ crossUnsafe }) => crossUnsafe),
  );
  factory.gaugesOf<{ chain: string }>(
    "set_waited_for",
    "1 while verification waits for L1 to make the next block of this chain safe.",
    labels,
    each(({ isWaitedFor }) => (isWaitedFor ? 1 : 0)),
  );
  factory.gaugesOf<{ from: string; to: string }>(
    "set_messages_verified",
    "Messages in verified blocks since the start, by the chain that initiated them and the one that executed them.",
    ["from", "to"],
    () => status.messages().map(({ from, to, count }) => [{ from: String(from), to: String(to) }, count] as const),
  );
  factory.gaugesOf<{ chain: string }>(
    "set_denied_blocks",
    "Blocks with an invalid message, each replaced by its deposits-only form.",
    labels,
    each(({ denied }) => denied),
  );
  factory.gaugeOf(
    "set_rewinds",
    "Times since the start that an L1 reorganisation took back what was verified.",
    () => status.rewinds,
  );
  factory.gaugeOf("set_failsafe", "1 while the interop filter refuses all messages.", () => (status.failsafe().length > 0 ? 1 : 0));
}
