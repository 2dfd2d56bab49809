import { bytesToHex, type Hex, hexToBytes, toQuantity } from "@rnode/primitives";
import { encodeTransaction, PREDEPLOYS, signTransaction } from "@rnode/protocol";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { CHAIN_ID, RICH_ADDRESS, RICH_KEY, startTestClient, type TestClient } from "../testing/test-client.ts";

// What op-geth v1.101702.3 (Geth 1.17.2) answers on this very chain, where the faces differ or differed from it. Its blocks are imported by it.

/** Stores 1 at the slot that the data names, the block's number at 7, and its parent's hash in memory, which it returns. */
const STORE = "0x00000000000000000000000000000000000000aa";
const CODE = "0x60015f35554360075560014303405060005460005260206000f3";
const CODE_HASH = "0xaf4b18bdff35d01b22f56b332adacce263fedf6a1668d0a626b042b1d1bd09ae";
const VAULT = bytesToHex(PREDEPLOYS.sequencerFeeVault);
const BASE_FEE_VAULT = bytesToHex(PREDEPLOYS.baseFeeVault);
const L1_BLOCK = bytesToHex(PREDEPLOYS.l1Block);
const DEPOSITOR = "0xdeaddeaddeaddeaddeaddeaddeaddeaddead0001";
const word = (digits: string): Hex => `0x${digits.padStart(64, "0")}`;
const filled = (byte: string): Hex => `0x${byte.repeat(32)}`;

const ALLOC = {
  [STORE]: { balance: "0x5", nonce: "0x1", code: CODE, storage: { [word("2")]: word("9") } },
  [L1_BLOCK]: {
    nonce: "0x1",
    balance: "0x0",
    storage: {
      [word("1")]: word((7n * 10n ** 9n).toString(16)),
      [word("3")]: word(((1368n << 96n) | (810_949n << 64n)).toString(16)),
      [word("7")]: word("3"),
      [word("8")]: `0x${"00".repeat(18)}0190${"00".repeat(12)}`, // the DA footprint's scalar: 400
    },
  },
} as const;

const deposit = (mint: bigint, byte: number): Hex =>
  bytesToHex(
    encodeTransaction({
      type: 0x7e,
      sourceHash: new Uint8Array(32).fill(0x90 + byte),
      from: hexToBytes(RICH_ADDRESS),
      to: hexToBytes(STORE),
      mint,
      value: 0n,
      gasLimit: 200_000n,
      isSystemTx: false,
      data: new Uint8Array(32).fill(byte),
    }),
  );
const signed = (nonce: bigint, fields: object = {}): Hex =>
  bytesToHex(
    encodeTransaction(
      signTransaction(
        {
          type: 0x02,
          chainId: BigInt(CHAIN_ID),
          nonce,
          gasLimit: 200_000n,
          to: hexToBytes(STORE),
          value: 3n,
          data: new Uint8Array(32).fill(7),
          maxPriorityFeePerGas: 10n,
          maxFeePerGas: 2_000_000_000n,
          accessList: [],
          ...fields,
        },
        hexToBytes(RICH_KEY),
      ),
    ),
  );

type Accounts = Record<string, Record<string, unknown>>;

describe.each(["G", "R"] as const)("face %s", (face) => {
  const isG = face === "G";
  let node: TestClient;
  const rpc = <T>(method: string, ...params: unknown[]): Promise<T> => node.rpc.call<T>(method, params);

  beforeAll(async () => {
    node = await startTestClient([`--profile=${face}`], undefined, { alloc: ALLOC });
    await node.buildBlock();
    await node.buildBlock({ transactions: [deposit(0n, 1), deposit(5n, 2)] });
    await node.buildBlock({ transactions: [signed(2n), signed(3n, { to: undefined, data: hexToBytes("0x60015f5560015ff3") })] });
    await node.buildBlock();
  });
  afterAll(() => node.remove());

  it("makes the chain that op-geth imports", async () => {
    expect(await rpc("eth_getBlockByNumber", "0x4", false)).toMatchObject({
      hash: "0x841468db12fbb7fb03914ebe43fd20219455b22a36203624e16bdb9bee218696",
    });
  });

  it("shows mint on every deposit", async () => {
    const { transactions } = await rpc<{ transactions: { mint: string }[] }>("eth_getBlockByNumber", "0x2", true);
    expect(transactions.map(({ mint }) => mint)).toEqual(["0x0", "0x0", "0x5"]);
  });

  it("shows l1Fee on deposit receipts, as the product's requirements say; other L1 fields as its client does", async () => {
    const receipts = await rpc<Record<string, string>[]>("eth_getBlockReceipts", "0x2");
    for (const receipt of receipts) {
      expect(receipt.l1Fee).toBe("0x0");
      expect("l1GasUsed" in receipt).toBe(!isG);
    }
  });

  it("has the blob gas ratio of its client in the fee history", async () => {
    const { blobGasUsedRatio } = await rpc<{ blobGasUsedRatio: number[] }>("eth_feeHistory", "0x4", "latest", []);
    expect(blobGasUsedRatio).toEqual(isG ? [0, 0, 0, 0] : [0, 0, 80_000 / 1_179_648, 0]);
  });

  it("simulates blocks with its client's headers", async () => {
    type Simulated = Record<"hash" | "extraData" | "blobGasUsed" | "parentHash" | "size", string>;
    const payload = { blockStateCalls: [{ calls: [{ from: RICH_ADDRESS, to: STORE, data: "0x01" }] }, {}] };
    const { parentBeaconBlockRoot } = await rpc<{ parentBeaconBlockRoot: Hex }>("eth_getBlockByNumber", "latest", false);
    const [first, second] = await rpc<[Simulated, Simulated]>("eth_simulateV1", payload, "latest");
    expect(first).toMatchObject(
      isG
        ? { extraData: "0x", blobGasUsed: "0x9c40", size: "0x291" }
        : { extraData: "0x01000000fa000000060000000000000000", blobGasUsed: "0x9c40", parentBeaconBlockRoot },
    );
    if (isG) {
      expect(first.hash).toBe("0xe74a371557d90129575dc42fd17c4f8d25ab26dd10e93dddea99ebfe026351ae");
      expect(second.hash).toBe("0x9a208be2c130c680985a7bae390f35de249ba3201525f5c9eaf1339da3f14078");
    }
    expect(second.parentHash).toBe(first.hash);
  });

  it("goes on with base fees in a simulation with validation", async () => {
    const payload = { blockStateCalls: [{}, {}, {}], validation: true };
    const blocks = await rpc<{ baseFeePerGas: string }[]>("eth_simulateV1", payload, "latest");
    const fees = blocks.map(({ baseFeePerGas }) => Number(baseFeePerGas));
    expect(fees[0]).toBe(0x3a701fcc);
    expect(fees[1]! < fees[0]! && fees[2]! < fees[1]!).toBe(true);
  });

  it("traces what was there before with its client's accounts and keys", async () => {
    const trace = async (block: string, tracerConfig: object = {}) =>
      (
        await rpc<{ result: Accounts & { pre: Accounts; post: Accounts } }[]>("debug_traceBlockByNumber", block, {
          tracer: "prestateTracer",
          tracerConfig,
        })
      ).map(({ result }) => result);
    const [attributes, ofDeposit] = await trace("0x2");
    expect(Object.keys(attributes!).sort()).toEqual([L1_BLOCK, DEPOSITOR]);
    expect(ofDeposit![STORE]).toEqual({
      balance: "0x5",
      nonce: 1,
      code: CODE,
      ...(isG && { codeHash: CODE_HASH }),
      storage: { [word("0")]: word("0"), [word("7")]: word("0"), [filled("01")]: word("0") },
    });
    // the vault of base fees belongs to the state before a deposit as well, once it exists
    expect(Object.keys((await trace("0x4"))[0]!).includes(BASE_FEE_VAULT)).toBe(isG);
    const [, call, creation] = await trace("0x3", { diffMode: true });
    expect(Object.keys(call!.pre).sort()).toEqual(
      isG ? [STORE, RICH_ADDRESS].sort() : [STORE, RICH_ADDRESS, VAULT, BASE_FEE_VAULT, bytesToHex(PREDEPLOYS.l1FeeVault)].sort(),
    );
    const created = "0x3b7090368e11f1bb5855817224fd9e93059438f9";
    expect(creation!.post[created]).toEqual({
      balance: "0x3",
      nonce: 1,
      code: "0x00",
      ...(isG && { codeHash: "0xbc36789e7a1e281436464229828f817d6612f7b477d66591ff96a9e064bcc98a" }),
      storage: { [word("0")]: word("1") },
    });
    const [all] = await trace("0x1", { includeEmpty: true });
    if (isG) {
      expect(all).toEqual({
        [VAULT]: { balance: "0x0" },
        [L1_BLOCK]: { balance: "0x0", nonce: 1 },
        [BASE_FEE_VAULT]: { balance: "0x0" },
        [DEPOSITOR]: { balance: "0x0" },
      });
    }
    await expect(trace("0x1", { includeEmpty: true, diffMode: true })).rejects.toMatchObject(
      isG ? { code: -32000, message: expect.stringMatching(/cannot use diffMode with includeEmpty$/) } : { code: -32602 },
    );
  });

  it("gives witnesses in its client's form", async () => {
    const witness = await rpc<{ headers: unknown[]; keys: unknown; codes: string[] }>("debug_executionWitness", "0x3");
    const { hash } = await rpc<{ hash: string }>("eth_getBlockByNumber", "0x2", false);
    expect(witness.codes).toEqual([CODE]);
    if (isG) {
      expect(witness.keys).toBeNull();
      expect(witness.headers).toEqual([
        expect.objectContaining({
          hash,
          number: "0x2",
          blockAccessListHash: null,
          slotNumber: null,
          requestsHash: expect.any(String),
        }),
      ]);
    } else {
      expect(witness.keys).toContain(STORE);
      expect(witness.headers).toEqual([await rpc("debug_getRawHeader", "0x2")]);
    }
  });

  it("takes a gas limit for building", async () => {
    expect(await rpc("miner_setGasLimit", toQuantity(30_000_000))).toBe(true);
  });
});
