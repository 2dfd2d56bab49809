import { createMetrics } from "@rnode/observe";
import { bytesToHex, ZERO_HASH } from "@rnode/primitives";
import {
  encodeReceipts,
  encodeTransaction,
  type Flashblock,
  type OpFork,
  postExecTransaction,
  type Transaction,
} from "@rnode/protocol";
import { orderedTrieRoot } from "@rnode/trie";
import { afterEach, describe, expect, it } from "vitest";
import type { PartFault, PendingBlock } from "../chain-parts.ts";
import { PreparedBlock } from "../prepared-block.ts";
import {
  ACCOUNTS,
  attributesDeposit,
  build,
  type DevChain,
  forkchoice,
  LOGGER,
  openDevChain,
  produce,
  transaction,
} from "../testing/dev-chain.ts";
import { PartProducer } from "../testing/part-producer.ts";
import { flashblockOf } from "./flashblock-of.ts";
import { pendingBlockFrom, pendingUpdateOf } from "./pending-update.ts";

const postExec = (refunds: readonly (readonly [index: number, gas: number])[], blockNumber = 1): Transaction =>
  postExecTransaction({
    blockNumber: BigInt(blockNumber),
    refunds: refunds.map(([index, gas]) => ({ index: BigInt(index), gas: BigInt(gas) })),
  });

const opened: DevChain[] = [];
afterEach(async () => {
  for (const chain of opened.splice(0)) await chain.remove();
});
function follower(given: Parameters<typeof openDevChain>[1] = {}, fork: OpFork = "jovian"): DevChain {
  const dev = openDevChain(fork, given);
  opened.push(dev);
  return dev;
}

/** A block in three parts, and its payload. */
function published(seed = 1): { producer: PartProducer; parts: Flashblock[]; seal: () => PreparedBlock } {
  const producer = new PartProducer();
  opened.push(producer.dev);
  const id = producer.start(seed);
  producer.pool = [{ from: 0, tx: transaction(0, 0) }];
  producer.tick();
  producer.pool = [{ from: 1, tx: transaction(1, 0, { to: LOGGER, data: new Uint8Array(32).fill(7) }) }];
  producer.tick();
  const seal = (): PreparedBlock => new PreparedBlock(producer.dev.chain.getPayload(id)!.block);
  return { producer, parts: producer.parts.map(flashblockOf), seal };
}

const startedBlocks = async (metrics: ReturnType<typeof createMetrics>): Promise<string | undefined> =>
  /chain_started_blocks_total (\d+)/.exec((await metrics.expose()).body)?.[1];

describe("parts of another producer", () => {
  it("give the block that they give there", () => {
    const { producer, parts } = published();
    const { chain } = follower();
    const pending = parts.map((part) => {
      const verdict = chain.executePart(part);
      if (verdict.kind !== "executed") throw new Error(JSON.stringify(verdict));
      return verdict.pending;
    });
    for (const [index, part] of pending.entries()) {
      const { changes, ...own } = producer.parts[index]!;
      expect(part).toMatchObject(own);
      expect(part.changes.accounts).toEqual(changes.accounts);
    }
  });

  const changed = (part: Flashblock, diff: Partial<Flashblock["diff"]>): Flashblock => ({
    ...part,
    diff: { ...part.diff, ...diff },
  });
  it.each<[PartFault, (parts: readonly Flashblock[]) => Flashblock[]]>([
    ["gas", ([first, second]) => [first!, changed(second!, { gasUsed: 1n })]],
    ["receipts", ([first, second]) => [first!, changed(second!, { receiptsRoot: ZERO_HASH })]],
    ["receipts", ([first, second, third]) => [first!, second!, changed(third!, { logsBloom: new Uint8Array(256) })]],
    ["footprint", ([first, second]) => [first!, changed(second!, { blobGasUsed: undefined })]],
    ["footprint", ([first]) => [changed(first!, { blobGasUsed: 5n })]],
    ["transaction", ([first, second]) => [first!, changed(second!, { transactions: [Uint8Array.of(2, 0xc0)] })]],
    ["transaction", ([first, second]) => [first!, changed(second!, { transactions: [encodeTransaction(transaction(0, 5))] })]],
    ["transaction", ([first, second]) => [first!, changed(second!, { transactions: [Uint8Array.of(3, 0xc0)] })]],
    ["transaction", ([first, second]) => [first!, changed(second!, { postExecTx: encodeTransaction(postExec([[1, 1]])) })]],
    ["out-of-order", ([first, , third]) => [first!, third!]],
    ["out-of-order", ([, second]) => [second!]],
    ["out-of-order", ([first, second]) => [first!, { ...second!, payloadId: "0x0300000000000000" }]],
    ["header", ([first]) => [{ ...first!, base: { ...first!.base!, baseFeePerGas: 7n } }]],
    ["header", ([first]) => [{ ...first!, base: { ...first!.base!, timestamp: 1000 } }]],
    ["header", ([first]) => [{ ...first!, base: { ...first!.base!, blockNumber: 5 } }]],
    ["header", ([first]) => [{ ...first!, base: { ...first!.base!, extraData: Uint8Array.of(9) } }]],
  ])("are refused for %s (%#), and leave the chain as it was", (fault, change) => {
    const { parts, seal } = published();
    const { chain } = follower();
    const given = change(parts);
    const verdicts = given.map((part) => chain.executePart(part));
    expect(verdicts.at(-1)).toMatchObject({ kind: "refused", fault });
    expect(verdicts.slice(0, -1).every(({ kind }) => kind === "executed")).toBe(true);
    expect(chain.executePart({ ...parts[1]!, index: given.length })).toMatchObject({ kind: "refused", fault: "out-of-order" });
    expect(chain.newPayload(seal()).status).toBe("VALID");
  });

  it("wait for their parent", () => {
    const { parts } = published();
    const dev = follower();
    produce(dev, 5);
    expect(dev.chain.executePart(parts[0]!)).toEqual({ kind: "other-parent" });
    const other = follower();
    expect(other.chain.executePart(parts[0]!).kind).toBe("executed");
    produce(other, 5);
    expect(other.chain.executePart(parts[1]!)).toEqual({ kind: "other-parent" });
  });

  it.each([
    ["all", 3, "1"],
    ["some", 2, "1"],
    ["none", 0, "0"],
  ])("are not executed again with their block: %s", async (_, count, started) => {
    const metrics = createMetrics({ prefix: "", ofProcess: false });
    const { parts, seal, producer } = published();
    const { chain } = follower({ metrics });
    for (const part of parts.slice(0, count)) chain.executePart(part);
    const block = seal();
    expect(chain.newPayload(block).status).toBe("VALID");
    expect(await startedBlocks(metrics)).toBe(started);
    chain.forkchoiceUpdated(forkchoice(block.hash), undefined, 3);
    expect(chain.head().hash).toBe(block.hashHex);
    for (const account of ACCOUNTS)
      expect(chain.stateAt(chain.head())!.readAccount(account)?.balance).toBe(
        producer.parts.at(-1)!.changes.accounts.find(({ address }) => bytesToHex(address) === bytesToHex(account))?.after
          ?.balance ?? producer.dev.chain.stateAt(producer.dev.chain.head())!.readAccount(account)?.balance,
      );
  });

  it("do not count for another block on the same parent", async () => {
    const metrics = createMetrics({ prefix: "", ofProcess: false });
    const { parts } = published();
    const { chain } = follower({ metrics });
    for (const part of parts) chain.executePart(part);
    expect(chain.newPayload(published(2).seal()).status).toBe("VALID");
    expect(await startedBlocks(metrics)).toBe("0");
  });
});

describe("parts with gas refunds", () => {
  const REFUNDED: readonly (readonly [number, number])[] = [
    [1, 100],
    [2, 50],
  ];
  const USERS = [transaction(0, 0), transaction(1, 0, { to: LOGGER, data: new Uint8Array(32).fill(7) })];

  /** A block of another chain in three parts, a transaction each, and the block after each of them. */
  function refunded() {
    const dev = follower({}, "lagoon");
    const blocks = [0, 1, 2].map((count) => {
      const transactions: Transaction[] = [attributesDeposit(1), ...USERS.slice(0, count)];
      if (count > 0) transactions.push(postExec(REFUNDED.slice(0, count)));
      return build(dev, 1, { transactions: transactions.map(encodeTransaction) }).block;
    });
    const parts = blocks.map(({ header, transactions }, index): Flashblock => {
      const postExecTx = index === 0 ? undefined : encodeTransaction(transactions.at(-1)!);
      const { receiptsRoot, logsBloom, gasUsed, blobGasUsed, beneficiary, mixHash, parentBeaconBlockRoot, number, ...base } =
        header;
      return {
        payloadId: "0x0300000000000001",
        index,
        blockNumber: number,
        base:
          index > 0
            ? undefined
            : {
                ...{ ...base, feeRecipient: beneficiary, prevRandao: mixHash, blockNumber: number },
                ...{ parentBeaconBlockRoot: parentBeaconBlockRoot!, baseFeePerGas: base.baseFeePerGas! },
              },
        diff: {
          ...{ stateRoot: ZERO_HASH, blockHash: ZERO_HASH, withdrawalsRoot: ZERO_HASH },
          ...{ receiptsRoot, logsBloom, gasUsed, blobGasUsed, postExecTx },
          transactions: [encodeTransaction(transactions[index]!)],
        },
      };
    });
    return { parts, blocks };
  }
  const withDiff = (part: Flashblock, diff: Partial<Flashblock["diff"]>): Flashblock => ({
    ...part,
    diff: { ...part.diff, ...diff },
  });

  it("are executed with them, and not again with their block", async () => {
    const { parts, blocks } = refunded();
    const metrics = createMetrics({ prefix: "", ofProcess: false });
    const { chain } = follower({ metrics }, "lagoon");
    const verdicts = parts.map((part) => chain.executePart(part));
    expect(verdicts.map(({ kind }) => kind)).toEqual(["executed", "executed", "executed"]);
    const last = verdicts[2]!;
    if (last.kind !== "executed") throw new Error("not executed");
    expect(last.pending.block.transactions.map(({ type }) => type)).toEqual([0x7e, 2, 2]);
    expect(last.pending.receipts.at(-1)!.cumulativeGasUsed).toBe(blocks[2]!.header.gasUsed);
    // without the receipt of the post-exec transaction, too: the specification does not say which root a part has
    const plain = orderedTrieRoot(encodeReceipts(last.pending.receipts));
    const { chain: other } = follower({}, "lagoon");
    for (const part of [parts[0]!, parts[1]!, withDiff(parts[2]!, { receiptsRoot: plain })])
      expect(other.executePart(part).kind).toBe("executed");
    const block = new PreparedBlock(blocks[2]!);
    expect(chain.newPayload(block).status).toBe("VALID");
    expect(await startedBlocks(metrics)).toBe("1");
    chain.forkchoiceUpdated(forkchoice(block.hash), undefined, 3);
    expect(chain.head().hash).toBe(block.hashHex);
  });

  it("leave the remaining refunds to the block", () => {
    const { parts, blocks } = refunded();
    const { chain } = follower({}, "lagoon");
    for (const part of parts.slice(0, 2)) expect(chain.executePart(part).kind).toBe("executed");
    expect(chain.newPayload(new PreparedBlock(blocks[2]!)).status).toBe("VALID");
  });

  it("do not count for a block with others", async () => {
    const { parts, blocks } = refunded();
    const metrics = createMetrics({ prefix: "", ofProcess: false });
    const { chain } = follower({ metrics }, "lagoon");
    expect(chain.executePart(parts[0]!).kind).toBe("executed");
    const unrefunded = build(follower({}, "lagoon"), 1, { transactions: [attributesDeposit(1), USERS[0]!].map(encodeTransaction) });
    const { receiptsRoot, gasUsed } = unrefunded.block.header;
    expect(chain.executePart(withDiff(parts[1]!, { receiptsRoot, gasUsed, postExecTx: undefined })).kind).toBe("executed");
    expect(chain.newPayload(new PreparedBlock(blocks[2]!)).status).toBe("VALID");
    expect(await startedBlocks(metrics)).toBe("0");
  });

  const REFUSALS: readonly [reason: RegExp, postExecTx: Uint8Array | undefined][] = [
    [
      /refund of transaction 1 was 100 .* now 99/,
      encodeTransaction(
        postExec([
          [1, 99],
          [2, 50],
        ]),
      ),
    ],
    [/refund of transaction 1 was 100 .* now 0/, encodeTransaction(postExec([[2, 50]]))],
    [/refund of transaction 1 was 100 .* now 0/, undefined],
    [/post-exec-block-number/, encodeTransaction(postExec(REFUNDED, 2))],
    [/gas-refund-target/, encodeTransaction(postExec([...REFUNDED, [3, 1]]))],
    [/gas-refund-target/, encodeTransaction(postExec([[0, 1], ...REFUNDED]))],
    [
      /gas-refund-too-high/,
      encodeTransaction(
        postExec([
          [1, 100],
          [2, 1_000_000],
        ]),
      ),
    ],
    [/has type 2/, encodeTransaction(transaction(1, 0))],
    [/transaction 3: /, Uint8Array.of(0x7d, 0xc0)],
  ];
  it.each(REFUSALS)("are refused: %s", (reason, postExecTx) => {
    const { parts } = refunded();
    const { chain } = follower({}, "lagoon");
    for (const part of parts.slice(0, 2)) chain.executePart(part);
    const verdict = chain.executePart(withDiff(parts[2]!, { postExecTx }));
    expect(verdict).toMatchObject({ kind: "refused", fault: "transaction", reason: expect.stringMatching(reason) as unknown });
  });

  it("are refused among the transactions", () => {
    const { parts } = refunded();
    const { chain } = follower({}, "lagoon");
    const { transactions, postExecTx } = parts[1]!.diff;
    chain.executePart(parts[0]!);
    expect(
      chain.executePart(withDiff(parts[1]!, { transactions: [...transactions, postExecTx!], postExecTx: undefined })),
    ).toMatchObject({
      fault: "transaction",
      reason: expect.stringContaining("belongs in post_exec_tx") as unknown,
    });
  });
});

describe("updates for another process", () => {
  const sent = <T>(value: T): T => structuredClone(value);

  it("give the same block, whole or after the one before", () => {
    const { producer } = published();
    let last: PendingBlock | undefined;
    for (const [index, pending] of producer.parts.entries()) {
      const update = sent(pendingUpdateOf(pending, producer.parts[index - 1]));
      expect(update.known).toBe(index === 0 ? 0 : producer.parts[index - 1]!.block.transactions.length);
      last = pendingBlockFrom(update, last);
      const { changes, ...own } = pending;
      expect(last).toMatchObject(own);
      expect(last!.changes.accounts).toEqual(changes.accounts);
    }
    const whole = pendingBlockFrom(sent(pendingUpdateOf(producer.parts[2]!, undefined)), undefined);
    expect(whole!.hash).toEqual(producer.parts[2]!.hash);
  });

  it("are of no use without the one before", () => {
    const [first, second] = published().producer.parts;
    expect(pendingBlockFrom(pendingUpdateOf(second!, first), undefined)).toBeUndefined();
  });
});
