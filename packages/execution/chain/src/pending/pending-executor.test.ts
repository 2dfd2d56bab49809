import { createMetrics } from "@rnode/observe";
import { bytesToHex, ZERO_HASH } from "@rnode/primitives";
import { encodeTransaction, type Flashblock } from "@rnode/protocol";
import { afterEach, describe, expect, it } from "vitest";
import type { PartFault, PendingBlock } from "../chain-parts.ts";
import { PreparedBlock } from "../prepared-block.ts";
import { ACCOUNTS, type DevChain, forkchoice, LOGGER, openDevChain, produce, transaction } from "../testing/dev-chain.ts";
import { PartProducer } from "../testing/part-producer.ts";
import { flashblockOf } from "./flashblock-of.ts";
import { pendingBlockFrom, pendingUpdateOf } from "./pending-update.ts";

const opened: DevChain[] = [];
afterEach(async () => {
  for (const chain of opened.splice(0)) await chain.remove();
});
function follower(given: Parameters<typeof openDevChain>[1] = {}): DevChain {
  const dev = openDevChain("jovian", given);
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
    ["unsupported", ([first, second]) => [first!, changed(second!, { postExecTx: Uint8Array.of(0x7d) })]],
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

  const startedBlocks = async (metrics: ReturnType<typeof createMetrics>): Promise<string | undefined> =>
    /chain_started_blocks_total (\d+)/.exec((await metrics.expose()).body)?.[1];

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
