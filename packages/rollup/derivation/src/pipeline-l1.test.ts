import { privateKeyToAddress } from "@rnode/primitives";
import {
  BLOB_BYTES,
  encodeBatcherData,
  isDepositTransaction,
  type L1Transaction,
  type SetCodeTransaction,
  type SignedTransaction,
  signTransaction,
} from "@rnode/protocol";
import { describe, expect, it } from "vitest";
import { compress, expectDerived, sim } from "./testing/pipeline-steps.ts";
import { forksUpTo, GENESIS_TIME } from "./testing/sim.ts";
import { BATCHER_KEY, configUpdateLog, depositLog, INBOX } from "./testing/sim-l1.ts";

describe("L1 retrieval", () => {
  it("reads blobs from Ecotone on, by their place among all blobs of the block", async () => {
    const s = sim(forksUpTo("ecotone"));
    s.l1.mineEmpty(2);
    await s.sequenceToL1Head();
    const { number } = s.sequencer.head;
    const [first, second, third] = s
      .frames(compress(s.batches("singular", 1, number)), 3)
      .map((frame) => encodeBatcherData([frame]));
    const foreign = s.l1.blobTransaction([Uint8Array.of(1), Uint8Array.of(2)], new Uint8Array(32).fill(0x99));
    s.l1.mine({ transactions: [s.l1.blobTransaction([first!, second!]), foreign, s.l1.blobTransaction([third!])] });
    s.l1.failures.blobs = 1;
    await expect(s.derive()).rejects.toThrow("blobs failed");
    expect(await s.derive()).toBe("idle");
    expectDerived(s, number);
  });

  it("ignores set-code transactions of the batcher", async () => {
    const s = sim(forksUpTo("jovian"));
    s.l1.mineEmpty(1);
    await s.sequenceMany(2);
    const data = encodeBatcherData(s.frames(compress(s.batches("singular", 1, 2))));
    const authorization = { chainId: 0n, address: INBOX, nonce: 0n, yParity: 0, r: 1n, s: 1n };
    const transaction: SetCodeTransaction = {
      type: 4,
      chainId: 900n,
      nonce: 0n,
      maxFeePerGas: 10n,
      maxPriorityFeePerGas: 1n,
      gasLimit: 100_000n,
      to: INBOX,
      value: 0n,
      data,
      accessList: [],
      authorizationList: [authorization],
    };
    s.l1.mine({ transactions: [signTransaction(transaction, BATCHER_KEY)] });
    expect(await s.derive()).toBe("idle");
    expectDerived(s, 0);
    s.l1.mine({ transactions: [s.l1.calldata(data)] });
    expect(await s.derive()).toBe("idle");
    expectDerived(s, 2);
  });

  it.each([0, 1, 2, 3])("reads batches before and after a transaction of an unknown type at place %i", async (place) => {
    const s = sim(forksUpTo("jovian"));
    s.l1.mineEmpty(1);
    await s.sequenceMany(3);
    const batches = [1, 2, 3].map((number) => encodeBatcherData(s.frames(compress(s.batches("singular", number, number)))));
    const known = s.l1.transactions.bind(s.l1);
    s.l1.transactions = async (hash) =>
      ((await known(hash)) as readonly L1Transaction[] | undefined)?.toSpliced(place, 0, {
        type: "unknown",
        typeByte: 0x05,
      }) as never;
    s.l1.mine({ transactions: batches.map((data) => s.l1.calldata(data)) });
    expect(await s.derive()).toBe("idle");
    expectDerived(s, 3);
  });

  it("takes the calldata of a blob transaction before Ecotone", async () => {
    const s = sim({ ...forksUpTo("delta"), ecotone: GENESIS_TIME + 10_000 });
    s.l1.mine({ transactions: [s.l1.blobTransaction([Uint8Array.of(1)])] });
    expect(await s.derive()).toBe("idle");
    expect(s.events).toContain("data calldata 0");
  });

  it("ignores a bad blob and takes the others", async () => {
    const s = sim(forksUpTo("ecotone"));
    s.l1.mineEmpty(1);
    await s.sequenceToL1Head();
    const { number } = s.sequencer.head;
    const bad = new Uint8Array(BLOB_BYTES);
    bad[1] = 7;
    const good = s.l1.blobTransaction([encodeBatcherData(s.frames(compress(s.batches("singular", 1, number))))]);
    s.l1.mine({ transactions: [s.l1.rawBlobs([bad]), good] });
    expect(await s.derive()).toBe("idle");
    expect(s.events).toContain("data-dropped bad-blob");
    expectDerived(s, number);
  });

  it("resets when blobs are not available any more", async () => {
    const s = sim(forksUpTo("ecotone"));
    s.l1.mine({ transactions: [s.l1.blobTransaction([Uint8Array.of(1)])] });
    s.l1.areBlobsGone = true;
    expect(await s.derive()).toBe("reset");
    expect(s.resets).toEqual(["blobs-missing"]);
    await expect(s.pipeline.step(s.verifier.head)).rejects.toThrow(expect.objectContaining({ code: "derivation/not-reset" }));
  });

  it("follows a change of the batcher: the block with the update already counts the new one", async () => {
    const s = sim(forksUpTo("ecotone"));
    s.l1.mineEmpty(1);
    await s.sequenceToL1Head();
    const { number } = s.sequencer.head;
    const newKey = new Uint8Array(32).fill(0x42);
    const newBatcher = privateKeyToAddress(newKey);
    const data = (from: number, to: number) => encodeBatcherData(s.frames(compress(s.batches("singular", from, to))));
    s.l1.mine({
      logs: [configUpdateLog(0, newBatcher)],
      transactions: [s.l1.calldata(data(1, 2)), s.l1.calldata(data(1, 3), newKey)],
    });
    expect(await s.derive()).toBe("idle");
    expect(s.verdicts.length).toBeGreaterThan(0);
    expectDerived(s, 3);
    s.l1.mine({ transactions: [s.l1.calldata(data(4, number))] });
    expect(await s.derive()).toBe("idle");
    expectDerived(s, 3);
    s.l1.mine({ transactions: [s.l1.calldata(data(4, number), newKey)] });
    expect(await s.derive()).toBe("idle");
    expectDerived(s, number);
  });

  it("skips each log that cannot be read, says so, and keeps its neighbours", async () => {
    const s = sim(forksUpTo("ecotone"));
    const user = new Uint8Array(20).fill(0x11);
    const deposit = depositLog(user, user, 5n);
    const logs = [
      configUpdateLog(99, new Uint8Array(32)),
      { ...deposit, topics: deposit.topics.slice(0, 3) },
      configUpdateLog(2, Uint8Array.of(1, 0, 0, 0)),
      deposit,
    ];
    s.l1.mine({ logs });
    await s.sequenceToL1Head();
    const { number } = s.sequencer.head;
    s.l1.mine({ transactions: [s.l1.calldata(encodeBatcherData(s.frames(compress(s.batches("singular", 1, number)))))] });
    expect(await s.derive()).toBe("idle");
    expectDerived(s, number);
    const { gasLimit, transactions } = s.verifier.payloads.at(-1)!;
    expect({ gasLimit, deposits: transactions.filter(isDepositTransaction).length }).toEqual({ gasLimit: 0x1000000n, deposits: 2 });
    expect(s.events.filter((event) => event.startsWith("log-skipped"))).toEqual([
      "log-skipped SystemConfig 0 system-config/unknown-update-type",
      "log-skipped OptimismPortal 1 deposit/wrong-topic-count",
    ]);
  });

  it("does not stop at transactions of the batcher whatever their fields", async () => {
    const s = sim(forksUpTo("jovian"));
    s.l1.mineEmpty(1);
    await s.sequenceToL1Head();
    const { number } = s.sequencer.head;
    const data = encodeBatcherData(s.frames(compress(s.batches("singular", 1, number))));
    const uint256 = 2n ** 256n - 1n;
    const uint64 = 2n ** 64n - 1n;
    const common = { nonce: uint64, gasLimit: uint64, value: uint256, data, accessList: [{ address: INBOX, storageKeys: [] }] };
    const fees = { maxFeePerGas: uint256, maxPriorityFeePerGas: uint256 };
    const authorization = { chainId: uint256, address: INBOX, nonce: uint64, yParity: 255, r: uint256, s: uint256 };
    const odd: SignedTransaction[] = [
      { ...common, type: 4, chainId: 900n, to: INBOX, ...fees, authorizationList: [authorization] },
      { ...common, type: 3, chainId: 900n, to: INBOX, ...fees, maxFeePerBlobGas: uint256, blobVersionedHashes: [] },
      { ...common, type: 2, chainId: uint256, to: undefined, ...fees },
      { ...common, type: 0, chainId: undefined, to: new Uint8Array(20), gasPrice: uint256 },
    ];
    const zero = { r: new Uint8Array(32), s: new Uint8Array(32), yParity: 0 as const };
    s.l1.mine({
      transactions: [...odd.map((tx) => ({ ...tx, signature: zero })), ...odd.map((tx) => signTransaction(tx, BATCHER_KEY))],
    });
    expect(await s.derive()).toBe("idle");
    expectDerived(s, 0);
    const read: SignedTransaction = { ...common, type: 1, chainId: uint256, to: INBOX, gasPrice: uint256 };
    s.l1.mine({ transactions: [{ ...read, signature: zero }, signTransaction(read, BATCHER_KEY)] });
    expect(await s.derive()).toBe("idle");
    expectDerived(s, number);
    expect(s.resets).toEqual([]);
  });
});
