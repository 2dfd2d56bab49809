import { bytesToHex, concatBytes } from "@rnode/primitives";
import { encodeTransaction, isDepositTransaction, isPostExecTransaction, postExecTransaction } from "@rnode/protocol";
import fc from "fast-check";
import { expect, it } from "vitest";
import { post, sim } from "./testing/pipeline-steps.ts";
import { forksUpTo, type Sim } from "./testing/sim.ts";

// Blocks with post-exec transactions, from batches to payload attributes: docs/protocol/01-execution.md#sequencer-defined-metering

/** All that a user's transaction uses on this chain. */
const GAS = 21_000n;

type Item =
  | { readonly kind: "user" }
  | { readonly kind: "refunds"; readonly numberOffset: bigint; readonly entries: readonly (readonly [bigint, bigint])[] }
  /** not a payload; a span batch of ours cannot have it */
  | { readonly kind: "garbage"; readonly bytes: Uint8Array };

const user = fc.constant<Item>({ kind: "user" });
const index = fc.oneof({ arbitrary: fc.bigInt({ min: 0n, max: 4n }), weight: 6 }, fc.constantFrom(2n ** 32n + 1n, 2n ** 64n - 1n));
const gas = fc.oneof({ arbitrary: fc.bigInt({ min: 0n, max: GAS + 1n }), weight: 4 }, fc.constantFrom(GAS, 2n ** 64n - 1n));
const refunds = fc.record({
  kind: fc.constant("refunds" as const),
  numberOffset: fc.oneof({ arbitrary: fc.constant(0n), weight: 9 }, fc.constant(1n)),
  entries: fc.oneof(fc.constant([[1n, 5n] as const]), fc.array(fc.tuple(index, gas), { maxLength: 3 })),
});
const garbage = fc
  .uint8Array({ maxLength: 6 })
  .map<Item>((bytes) => ({ kind: "garbage", bytes: concatBytes(Uint8Array.of(0xff), bytes) }));
const blockOf = (items: readonly fc.Arbitrary<Item>[]) =>
  fc.oneof(
    { arbitrary: fc.array(user, { maxLength: 3 }), weight: 3 },
    { arbitrary: fc.tuple(user, fc.oneof(...items)), weight: 4 },
    fc.array(fc.oneof(user, ...items), { maxLength: 4 }),
  );

/** Whether a block that has one deposit and these transactions is valid. */
function isValid(items: readonly Item[]): boolean {
  const kinds = ["deposit", ...items.map(({ kind }) => kind)];
  for (const [at, item] of items.entries()) {
    if (item.kind === "user") continue;
    if (item.kind === "garbage" || at !== items.length - 1 || item.numberOffset !== 0n) return false;
    const seen = new Set<bigint>();
    for (const [target, refund] of item.entries) {
      if (seen.has(target) || kinds[Number(target)] !== "user" || refund === 0n || refund > GAS) return false;
      seen.add(target);
    }
  }
  return true;
}

function bytesOf(s: Sim, item: Item, number: bigint): Uint8Array {
  if (item.kind === "user") return s.userTransaction();
  if (item.kind === "garbage") return concatBytes(Uint8Array.of(0x7d), item.bytes);
  const refundsOf = item.entries.map(([at, refund]) => ({ index: at, gas: refund }));
  return encodeTransaction(postExecTransaction({ blockNumber: number + item.numberOffset, refunds: refundsOf }));
}

it.each([
  ["singular", "lagoon"],
  ["span", "lagoon"],
  ["singular", "karst"],
  ["span", "karst"],
] as const)("random blocks in %s batches are derived as they are, as their deposits, or not at all (%s)", async (type, fork) => {
  const any = blockOf(type === "span" ? [refunds] : [refunds, garbage]);
  const blocks = fc.oneof(
    { arbitrary: fc.array(any, { minLength: 1, maxLength: 5 }), weight: 3 },
    fc.array(fc.array(user, { maxLength: 3 }), { minLength: 1, maxLength: 5 }),
  );
  const outcomes = { whole: 0, replaced: 0, dropped: 0 };
  await fc.assert(
    fc.asyncProperty(blocks, async (list) => {
      const s = sim(forksUpTo(fork));
      s.l1.mineEmpty(3);
      const invalid = new Set<number>();
      for (const [at, items] of list.entries()) {
        const number = at + 1;
        if (!isValid(items)) invalid.add(number);
        await s.sequence({ transactions: items.map((item) => bytesOf(s, item, BigInt(number))), keepOrigin: true });
      }
      post(s, 1, list.length, type);
      // what an execution client says, whose rules are tested elsewhere
      s.isInvalid = ({ parent, attributes }) =>
        invalid.has(parent.number + 1) && !attributes.transactions!.every(isDepositTransaction);
      expect(await s.derive()).toBe("idle");
      const has = (items: readonly Item[]): boolean => items.some(({ kind }) => kind !== "user");
      const stop = fork === "karst" ? list.findIndex(has) : list.findIndex((_, at) => invalid.has(at + 1));
      const same = stop === -1 ? list.length : stop;
      outcomes[stop === -1 ? "whole" : fork === "karst" ? "dropped" : "replaced"]++;
      expect(s.agreesTo(same)).toBe(true);
      expect(s.verifier.head.number).toBe(stop !== -1 && fork === "lagoon" ? same + 1 : same);
      if (stop === -1) return;
      if (fork === "karst") {
        expect(s.verdicts.at(-1)).toMatch(/drop post-exec-before-lagoon$/);
        return;
      }
      const [refused, replaced] = s.derived.slice(-2);
      const wanted = s.sequencer.payloads[same + 1]!.transactions;
      expect(refused!.attributes.transactions!.map(bytesToHex)).toEqual(wanted.map(bytesToHex));
      expect(refused!.attributes.noTxPool).toBe(true);
      expect(replaced!.attributes.transactions!.every(isDepositTransaction)).toBe(true);
      expect(replaced!.attributes.transactions!.some(isPostExecTransaction)).toBe(false);
    }),
    { numRuns: 60 },
  );
  expect(outcomes.whole).toBeGreaterThan(0);
  expect(outcomes[fork === "karst" ? "dropped" : "replaced"]).toBeGreaterThan(0);
});
