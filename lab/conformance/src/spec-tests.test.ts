import { mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { genesisBlock, newEngine } from "@rnode/chain";
import { bytesToHex, hexToBytes, keccak256, privateKeyToAddress } from "@rnode/primitives";
import {
  BEACON_ROOTS_ADDRESS,
  type Block,
  encodeBlock,
  encodeReceipts,
  encodeTransaction,
  hashHeader,
  logsBloom,
  parseChainConfig,
  parseGenesis,
  positionFields,
  type SignedTransaction,
  signTransaction,
} from "@rnode/protocol";
import { orderedTrieRoot } from "@rnode/trie";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { runConformance } from "./run-conformance.ts";
import { runBlockchainTests } from "./suites/blockchain-test.ts";
import { compareException } from "./suites/expected-exceptions.ts";
import { runStateTestFile } from "./suites/state-test.ts";
import { blobParamsAtEra, chainConfigOfSuite, isKnownNetwork } from "./suites/suite-forks.ts";

// The forms of execution-spec-tests, with fixtures made here.

const LIMITS = { target: "0x02", max: "0x03", baseFeeUpdateFraction: "0x1000" };
const OWN = { target: 2, max: 3, baseFeeUpdateFraction: 4096n };
const SENDER = `0x${"5e".repeat(20)}`;
const TO = `0x${"aa".repeat(20)}`;
const PRE = {
  [SENDER]: { balance: "0xde0b6b3a7640000", nonce: "0x00", code: "0x", storage: {} },
  [TO]: { balance: "0x00", nonce: "0x01", code: "0x4a5f55", storage: {} }, // BLOBBASEFEE PUSH0 SSTORE
};

let folder = "";
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "spec-tests-"));
});
afterEach(() => {
  vi.restoreAllMocks();
});

describe("networks", () => {
  it.each([
    ["OsakaToBPO1AtTime15k", 14_999, { target: 6, max: 9, baseFeeUpdateFraction: 5_007_716n }],
    ["OsakaToBPO1AtTime15k", 15_000, { target: 10, max: 15, baseFeeUpdateFraction: 8_346_193n }],
    ["BPO1ToBPO2AtTime15k", 14_999, { target: 10, max: 15, baseFeeUpdateFraction: 8_346_193n }],
    ["BPO1ToBPO2AtTime15k", 15_000, { target: 14, max: 21, baseFeeUpdateFraction: 11_684_671n }],
    ["PragueToOsakaAtTime15k", 0, { target: 6, max: 9, baseFeeUpdateFraction: 5_007_716n }],
    ["BPO2", 0, { target: 14, max: 21, baseFeeUpdateFraction: 11_684_671n }],
  ])("%s at %i", (network, timeSec, params) => {
    const config = chainConfigOfSuite(network)!;
    expect(config.blobSchedule.findLast((entry) => entry.timeSec <= timeSec)?.params).toEqual(params);
  });

  it("take their blob parameters and chain id from the fixture, however it writes the names", () => {
    const given = { chainid: "0x2a", blobSchedule: { bpo4: LIMITS, Osaka: LIMITS } };
    const config = chainConfigOfSuite("BPO4", given)!;
    expect(config.chainId).toBe(42n);
    expect(config.blobSchedule.at(-1)).toEqual({ timeSec: 0, params: OWN });
    expect(blobParamsAtEra("Osaka", given)).toEqual(OWN);
    expect(blobParamsAtEra("Shanghai", given)).toBeUndefined();
    expect(() => chainConfigOfSuite("BPO5", given)).toThrow("blobSchedule has no entry for BPO5");
  });

  it("are known or not by their parts", () => {
    for (const name of ["Prague", "BPO3", "BPO5", "MuirGlacier", "ParisToShanghaiAtTime15k"])
      expect([name, isKnownNetwork(name)]).toEqual([name, true]);
    for (const name of ["Amsterdam", "BPO6", "BPO2ToAmsterdamAtTime15k", "EOFv1", ""])
      expect([name, isKnownNetwork(name)]).toEqual([name, false]);
  });
});

it.each<[string | string[], string, "same" | "other" | "unknown"]>([
  ["TransactionException.NONCE_MISMATCH_TOO_LOW", "nonce-too-low", "same"],
  ["BlockException.INVALID_GASLIMIT|TransactionException.NONCE_MISMATCH_TOO_LOW", "nonce-too-low", "same"],
  [["BlockException.INVALID_GASLIMIT", "BlockException.INVALID_STATE_ROOT"], 'state-root-mismatch {"computed":"0x"}', "same"],
  ["TransactionException.NONCE_MISMATCH_TOO_LOW", "insufficient-funds", "other"],
  ["BlockException.SOMETHING_NEW", "insufficient-funds", "unknown"],
  ["BlockException.SOMETHING_NEW|TransactionException.NONCE_IS_MAX", "insufficient-funds", "unknown"],
  ["BlockException.SOMETHING_NEW|TransactionException.NONCE_IS_MAX", "nonce-max", "same"],
])("%s beside %s: %s", (expected, reason, verdict) => {
  expect(compareException(expected, reason)).toBe(verdict);
});

describe("state tests", () => {
  it("use the blob parameters of the fixture", () => {
    const stored = (value: bigint) => {
      const alloc = { ...PRE, [TO]: { ...PRE[TO], storage: { "0x00": `0x${value.toString(16)}` } } };
      return alloc;
    };
    // e^(excess / fraction): 8192 / 4096 = 2; the sender pays nothing, as the gas price is 0 before London's base fee is
    const test = {
      env: {
        currentCoinbase: `0x${"c0".repeat(20)}`,
        currentNumber: "0x01",
        currentTimestamp: "0x03e8",
        currentGasLimit: "0x5f5e100",
        currentBaseFee: "0x00",
        currentDifficulty: "0x00",
        currentRandom: "0x00",
        currentExcessBlobGas: "0x2000",
      },
      pre: PRE,
      transaction: {
        data: ["0x"],
        gasLimit: ["0x186a0"],
        value: ["0x00"],
        nonce: "0x00",
        to: TO,
        gasPrice: "0x00",
        sender: SENDER,
      },
      config: { chainid: "0x01", blobSchedule: { BPO1: LIMITS } },
    };
    const rootOf = (alloc: object) =>
      bytesToHex(
        genesisBlock(parseGenesis({ config: { chainId: 1 }, gasLimit: "0x1", alloc }), parseChainConfig({ chainId: 1 })).block
          .header.stateRoot,
      );
    const after = stored(7n);
    const post = { ...after, [SENDER]: { ...PRE[SENDER], nonce: "0x01" } };
    const file = join(folder, "state.json");
    const logs = bytesToHex(keccak256(Uint8Array.of(0xc0)));
    const run = (name: string, hash: string) => {
      writeFileSync(
        file,
        JSON.stringify({ own: { ...test, post: { [name]: [{ hash, logs, indexes: { data: 0, gas: 0, value: 0 } }] } } }),
      );
      return runStateTestFile(newEngine(), file, undefined).results[0]!.failure;
    };
    expect(run("BPO1", rootOf(post))).toBeUndefined();
    expect(run("Osaka", rootOf(post))).toMatch(/^state root/); // its own parameters: a blob base fee of 1
  });
});

describe("blockchain tests", () => {
  it("compare why a block is refused", () => {
    const config = chainConfigOfSuite("Prague")!;
    const { header } = genesisBlock(
      parseGenesis({ config: { chainId: 1 }, gasLimit: "0x5f5e100", timestamp: "0x5", alloc: {} }),
      config,
    ).block;
    const genesis: Block = { header, transactions: [], ommers: [], withdrawals: [] };
    const hash = bytesToHex(hashHeader(header));
    const child: Block = { ...genesis, header: { ...header, parentHash: hashHeader(header), number: 1 } };
    let uncompared: Readonly<Record<string, number>> | undefined;
    const run = (expectException: unknown) => {
      const test = {
        network: "Prague",
        genesisRLP: bytesToHex(encodeBlock(genesis)),
        pre: {},
        lastblockhash: hash,
        blocks: [{ rlp: bytesToHex(encodeBlock(child)), expectException }],
        config: { chainid: "0x01" },
      };
      mkdirSync(join(folder, "blockchain_tests"), { recursive: true });
      writeFileSync(join(folder, "blockchain_tests", "own.json"), JSON.stringify({ own: test }));
      const report = runBlockchainTests(folder);
      uncompared = report.uncompared;
      return report.failures;
    };
    expect(run("BlockException.SOMETHING_NEW")).toEqual([]);
    expect(uncompared).toEqual({ SOMETHING_NEW: 1 });
    expect(run("BlockException.INVALID_BLOCK_TIMESTAMP_OLDER_THAN_PARENT")).toEqual([]);
    expect(run(["BlockException.INVALID_BLOCK_TIMESTAMP_OLDER_THAN_PARENT"])).toEqual([]);
    expect(run("BlockException.INVALID_STATE_ROOT")).toEqual([
      expect.stringMatching(/own\.json own: block 0: refused \(timestamp-not-after-parent .*\), expected INVALID_STATE_ROOT/),
    ]);
    expect(run(undefined)).toEqual([expect.stringMatching(/block 0: timestamp-not-after-parent/)]);
  });

  // EIP-4788: the ring buffers have 8191 slots each. The state after the block follows from its fields, without our execution.
  const RING = 8191n;
  const BEACON_ROOTS = {
    balance: "0x00",
    nonce: "0x01",
    code: "0x3373fffffffffffffffffffffffffffffffffffffffe14604d57602036146024575f5ffd5b5f35801560495762001fff810690815414603c575f5ffd5b62001fff01545f5260205ff35b5f5ffd5b62001fff42064281555f359062001fff015500",
    storage: {},
  };
  it.each([1n, 2n ** 53n - 1n, 2n ** 53n, 2n ** 53n + 1n, 2n ** 63n, 2n ** 64n - 1n])(
    "execute block %i at that second exactly: TIMESTAMP, NUMBER, BLOCKHASH, and the slots of its beacon root",
    (at) => {
      const quantity = (value: bigint) => `0x${value.toString(16)}`;
      const key = new Uint8Array(32).fill(0x5e);
      const sender = bytesToHex(privateKeyToAddress(key));
      const observer = `0x${"aa".repeat(20)}`;
      const root = new Uint8Array(32).fill(0xbe);
      const pre = {
        [sender]: { balance: "0xde0b6b3a7640000", nonce: "0x00", code: "0x", storage: {} },
        [observer]: { balance: "0x00", nonce: "0x01", code: "0x425f554360015560014303406002555f4060035500", storage: {} },
        [bytesToHex(BEACON_ROOTS_ADDRESS)]: BEACON_ROOTS,
      };
      const config = chainConfigOfSuite("Cancun")!;
      const place = { number: quantity(at - 1n), timestamp: quantity(at - 1n) };
      const given = { ...place, config: { chainId: 1 }, gasLimit: "0x5f5e100", baseFeePerGas: "0x8" };
      const rootAfter = (alloc: object) => genesisBlock(parseGenesis({ ...given, alloc }), config).block.header.stateRoot;
      const { block: genesis, hash } = genesisBlock(parseGenesis({ ...given, alloc: pre }), config);

      const unsigned = {
        chainId: 1n,
        nonce: 0n,
        gasPrice: 7n,
        gasLimit: 500_000n,
        to: hexToBytes(observer),
        value: 0n,
        data: new Uint8Array(0),
      };
      const transaction = signTransaction<SignedTransaction>({ type: 0, ...unsigned }, key);
      // TIMESTAMP PUSH0 SSTORE · NUMBER PUSH1 SSTORE · PUSH1 NUMBER SUB BLOCKHASH PUSH1 SSTORE · PUSH0 BLOCKHASH PUSH1 SSTORE of the genesis
      // or of nothing: all slots were empty and cold; writing 0 into one costs 100 instead of 20000
      const isGenesisZero = at === 1n;
      const gasUsed =
        21_000n +
        4n +
        5n +
        (3n + 2n + 3n + 20n + 3n) +
        (2n + 20n + 3n) +
        4n * 2_100n +
        3n * 20_000n +
        (isGenesisZero ? 20_000n : 100n);
      const logs: [] = [];
      const receipt = { type: 0, status: 1 as const, cumulativeGasUsed: gasUsed, bloom: logsBloom(logs), logs };
      const word = (value: bigint) => `0x${value.toString(16).padStart(64, "0")}`;
      const parentHash = bytesToHex(hash);
      const post = {
        [sender]: { ...pre[sender], nonce: "0x01", balance: quantity(10n ** 18n - 7n * gasUsed) },
        [observer]: {
          ...pre[observer],
          storage: { "0x00": word(at), "0x01": word(at), "0x02": parentHash, ...(isGenesisZero && { "0x03": parentHash }) },
        },
        [bytesToHex(BEACON_ROOTS_ADDRESS)]: {
          ...BEACON_ROOTS,
          storage: { [word(at % RING)]: word(at), [word((at % RING) + RING)]: bytesToHex(root) },
        },
      };
      const header = {
        ...genesis.header,
        ...positionFields(at, at),
        parentHash: hash,
        stateRoot: rootAfter(post),
        transactionsRoot: orderedTrieRoot([encodeTransaction(transaction)]),
        receiptsRoot: orderedTrieRoot(encodeReceipts([receipt])),
        gasUsed,
        baseFeePerGas: 7n,
        parentBeaconBlockRoot: root,
      };
      const block: Block = { header, transactions: [transaction], ommers: [], withdrawals: [] };
      const test = {
        network: "Cancun",
        genesisRLP: bytesToHex(encodeBlock(genesis)),
        pre,
        postState: post,
        blocks: [{ rlp: bytesToHex(encodeBlock(block)) }],
        lastblockhash: bytesToHex(hashHeader(header)),
        config: { chainid: "0x01" },
      };
      writeFileSync(join(folder, "own.json"), JSON.stringify({ own: test }));
      expect(runBlockchainTests(folder).failures).toEqual([]);
    },
  );
});

it("npm run conformance finds the folders of a release", async () => {
  const lines: string[] = [];
  vi.spyOn(console, "log").mockImplementation((line: string) => void lines.push(line));
  const cases = { own: { txbytes: "0x", result: { Prague: { exception: "TransactionException.RLP_INVALID_VALUE" } } } };
  mkdirSync(join(folder, "fixtures", "transaction_tests", "prague"), { recursive: true });
  writeFileSync(join(folder, "fixtures", "transaction_tests", "prague", "own.json"), JSON.stringify(cases));
  expect(await runConformance([folder], {})).toBe(0);
  expect(await runConformance([join(folder, "fixtures")], {})).toBe(0);
  expect(await runConformance([join(folder, "fixtures", "transaction_tests")], {})).toBe(0);
  expect(lines.filter((line) => /^transaction tests of the specification: 1 passed, 0 failed/.test(line))).toHaveLength(3);
  expect(await runConformance([folder, "--suite", "blockchain_tests"], {})).toBe(1);
});
