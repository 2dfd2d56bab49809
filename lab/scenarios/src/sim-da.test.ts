import { bytesToHex, equalBytes, uint64ToBytes } from "@rnode/primitives";
import { CHALLENGE_STATUS_TOPIC, decodeDaCommitment, type FeeMarketTransaction, signTransaction } from "@rnode/protocol";
import { expect, it } from "vitest";
import { configOf, GENESIS_TIME_SEC, type Plan, planOf } from "./plan.ts";
import { Random } from "./random.ts";
import { SimDa } from "./sim-da.ts";
import { SimL1 } from "./sim-l1.ts";

/*
 * The plans' events of data outside of L1, without nodes: each outcome of a challenge must occur, alone and together with others
 * in one window, otherwise scenarios would test less than intended.
 */

const SEEDS = 240;
const BLOCKS = 40;

type Outcome =
  | "never challenged"
  | "answered, data kept"
  | "answered, data withheld meanwhile"
  | "expired, data kept"
  | "expired, data withheld";

interface Outcomes {
  readonly counts: ReadonlyMap<Outcome, number>;
  readonly malformed: number;
  /** the most challenges that waited for an answer at a time */
  readonly mostOpen: number;
}

/** One commitment in each L1 block. */
async function outcomesOf(plan: Plan): Promise<Outcomes> {
  const l1 = new SimL1({ genesisTimeSec: GENESIS_TIME_SEC, blockTimeSec: 4, safeDistance: 4, finalDistance: 60 });
  const { altDa, batchInboxAddress: inbox, l1ChainId } = configOf(plan, l1.head.ref);
  let nonce = 0n;
  const transaction = (data: Uint8Array, to: Uint8Array): FeeMarketTransaction =>
    signTransaction<FeeMarketTransaction>(
      {
        type: 2,
        chainId: l1ChainId,
        nonce: nonce++,
        maxFeePerGas: 10n ** 12n,
        maxPriorityFeePerGas: 10n ** 9n,
        gasLimit: 500_000n,
        to,
        value: 0n,
        data,
        accessList: [],
      },
      new Uint8Array(32).fill(0x5a),
    );
  const contract = altDa!.daChallengeContractAddress!;
  const da = new SimDa({
    config: altDa!,
    inbox,
    l1,
    random: new Random(plan.seed, "challenges"),
    transaction: (calldata) => transaction(calldata, contract),
    onEvent: () => {},
  });
  const { daChallengeWindow, daResolveWindow } = altDa!;
  const lives = BLOCKS + daChallengeWindow + daResolveWindow + 2;
  const commitments = new Map<number, Uint8Array>();
  /** L1 blocks of the events, by the challenged block */
  const events = { active: new Map<number, number>(), resolved: new Map<number, number>() };
  const missedAt = new Map<number, number[]>();
  let mostOpen = 0;
  for (let number = 1; number <= lives; number++) {
    if (number <= BLOCKS) {
      const data = da.put(uint64ToBytes(number));
      commitments.set(number, data.subarray(1));
      l1.force(transaction(data, inbox));
    }
    da.beforeBlock();
    const { stored } = l1.mine(1000 * (GENESIS_TIME_SEC + 4 * number));
    for (const { address, topics, data } of stored.receipts.flatMap(({ logs }) => logs)) {
      if (!equalBytes(address, contract) || topics.length !== 2 || !equalBytes(topics[0]!, CHALLENGE_STATUS_TOPIC)) continue;
      const challenged = Number(BigInt(bytesToHex(topics[1]!)));
      const status = data[63];
      const kind = status === 1 ? events.active : status === 2 ? events.resolved : undefined;
      // the malformed ones are of no block that has a commitment, or of no commitment that it has
      if (kind !== undefined && !kind.has(challenged) && data.length === 160) kind.set(challenged, number);
    }
    const open = [...events.active].filter(([of, at]) => !events.resolved.has(of) && number <= at + daResolveWindow);
    mostOpen = Math.max(mostOpen, open.length);
    for (const [at, commitment] of commitments) {
      if ((await da.get(decodeDaCommitment(commitment))) === undefined) missedAt.set(at, [...(missedAt.get(at) ?? []), number]);
    }
  }
  const counts = new Map<Outcome, number>();
  for (const number of commitments.keys()) {
    const isMissed = missedAt.has(number);
    const outcome: Outcome = !events.active.has(number)
      ? "never challenged"
      : events.resolved.has(number)
        ? isMissed
          ? "answered, data withheld meanwhile"
          : "answered, data kept"
        : isMissed
          ? "expired, data withheld"
          : "expired, data kept";
    counts.set(outcome, (counts.get(outcome) ?? 0) + 1);
  }
  return { counts, malformed: da.events.malformed, mostOpen };
}

it("the plans' challenges have each outcome, several in one window, and malformed logs beside them", { tags: "long" }, async () => {
  const plans = Array.from({ length: SEEDS }, (_, seed) => planOf(seed + 1, { hasUpgradeCode: false })).filter(
    ({ altDa }) => altDa !== undefined,
  );
  expect(plans.length).toBeGreaterThan(SEEDS / 20);
  const total = new Map<Outcome, number>();
  const windows = new Set<string>();
  let [malformed, several, whole] = [0, 0, 0];
  for (const plan of plans) {
    const { counts, malformed: bad, mostOpen } = await outcomesOf(plan);
    for (const [outcome, count] of counts) total.set(outcome, (total.get(outcome) ?? 0) + count);
    malformed += bad;
    if (mostOpen >= 3) several++;
    if (counts.size === 5) whole++;
    windows.add(`${plan.altDa!.challengeWindow} ${plan.altDa!.resolveWindow}`);
  }
  for (const outcome of [
    "never challenged",
    "answered, data kept",
    "answered, data withheld meanwhile",
    "expired, data kept",
    "expired, data withheld",
  ] as const)
    expect([outcome, (total.get(outcome) ?? 0) > plans.length]).toEqual([outcome, true]);
  expect(malformed).toBeGreaterThan(plans.length);
  expect(several).toBeGreaterThan(plans.length / 4);
  expect(whole).toBeGreaterThan(plans.length / 2);
  expect(windows.size).toBeGreaterThan(12); // of 24
});
