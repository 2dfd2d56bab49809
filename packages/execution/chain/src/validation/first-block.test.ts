import { hexToBytes } from "@rnode/primitives";
import { encodeTransaction, OP_FORKS, type OpFork } from "@rnode/protocol";
import { orderedTrieRoot } from "@rnode/trie";
import { afterEach, describe, expect, it } from "vitest";
import { PreparedBlock } from "../prepared-block.ts";
import {
  attributesDeposit,
  attributesFor,
  BLOCK_TIME_SEC,
  build,
  type DevChain,
  devConfig,
  devGenesis,
  fixedPool,
  forkchoice,
  GENESIS_TIME_SEC,
  openDevChain,
  produce,
  transaction,
} from "../testing/dev-chain.ts";

// The transactions that the first block of each fork may have: docs/protocol/01-execution.md#header-and-body-validity

const opened: DevChain[] = [];
afterEach(async () => {
  for (const chain of opened.splice(0)) await chain.remove();
});

/** A chain on which a fork begins in block 2, seen before its first block and from that on. */
function chainWith(fork: OpFork): { before: DevChain; after: DevChain } {
  const previous = OP_FORKS[OP_FORKS.indexOf(fork) - 1]!;
  const config = devConfig(previous);
  const forkTimes = { [previous]: 0, [fork]: GENESIS_TIME_SEC + 2 * BLOCK_TIME_SEC };
  const before = openDevChain(previous, {
    config: { ...config, optimism: { ...config.optimism!, forkTimes } },
    genesis: devGenesis(previous),
  });
  opened.push(before);
  return { before, after: { ...before, fork } };
}

const FORBIDDING: readonly OpFork[] = OP_FORKS.slice(OP_FORKS.indexOf("jovian"));
/** Canyon's first block needs the code of a contract that is not in this repository. */
const TESTED = OP_FORKS.slice(1).filter((fork) => fork !== "canyon");

describe.each(TESTED.map((fork) => [fork, FORBIDDING.includes(fork)] as const))(
  "%s, forbids users' transactions: %s",
  (fork, isForbidden) => {
    const users = encodeTransaction(transaction(0, 0));
    const transactions = (seed: number) => [encodeTransaction(attributesDeposit(seed)), users];
    const typesOf = ({ block }: { block: { transactions: readonly { type: number }[] } }) =>
      block.transactions.map(({ type }) => type);

    it("attributes with one", () => {
      const { before, after } = chainWith(fork);
      produce(before);
      const head = forkchoice(hexToBytes(before.chain.head().hash));
      const result = before.chain.forkchoiceUpdated(head, attributesFor(after, 2, { transactions: transactions(2) }), 3);
      if (isForbidden) expect(result).toMatchObject({ kind: "invalid-attributes", fault: "transaction-invalid" });
      else expect(result).toMatchObject({ kind: "updated", status: { status: "VALID" } });
      produce(after, 3);
      expect(typesOf(produce(after, 4, { transactions: transactions(4) }))).toEqual([0x7e, 0x02]);
    });

    it("a block that is built with one in the pool", () => {
      const { before, after } = chainWith(fork);
      before.chain.setPendingSource(fixedPool(() => [{ from: 0, tx: transaction(0, 0) }]));
      produce(before);
      expect(typesOf(build(after, 2, { noTxPool: false }))).toEqual(isForbidden ? [0x7e] : [0x7e, 0x02]);
      produce(after, 3);
      expect(typesOf(produce(after, 4, { noTxPool: false }))).toEqual([0x7e, 0x02]);
    });

    it("a block from elsewhere", () => {
      const { before, after } = chainWith(fork);
      produce(before);
      const { block } = build(after, 2);
      const all = [...block.transactions, transaction(0, 0)];
      const header = { ...block.header, transactionsRoot: orderedTrieRoot(all.map(encodeTransaction)) };
      const status = before.chain.newPayload(new PreparedBlock({ ...block, header, transactions: all }));
      expect(status.status).toBe("INVALID");
      // Where such a transaction is allowed, this block is invalid because of its execution result.
      expect(status.validationError).toMatch(
        isForbidden ? /^user-transaction-in-first-block index=1 type=2/ : /^gas-used-mismatch/,
      );
      expect(before.chain.newPayload(new PreparedBlock(block))).toMatchObject({ status: "VALID" });
    });
  },
);

it("a fork that is active at genesis has no first block", () => {
  const dev = openDevChain("jovian");
  opened.push(dev);
  const transactions = [encodeTransaction(attributesDeposit(1)), encodeTransaction(transaction(0, 0))];
  expect(produce(dev, 1, { transactions }).block.transactions).toHaveLength(2);
});
