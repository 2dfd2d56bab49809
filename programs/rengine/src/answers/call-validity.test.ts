import { JOVIAN_CONFIG } from "@rnode/eth-api/testing";
import { type Hex, hexToBytes, toQuantity, ZERO_HASH } from "@rnode/primitives";
import { type Authorization, blockRules, checkTransaction, parseChainConfig, type SignedTransaction } from "@rnode/protocol";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { GENESIS_TIME_SEC, RICH_ADDRESS, startTestClient, type TestClient } from "../testing/test-client.ts";

// Calls, estimates, access lists and simulations refuse exactly those calls whose transaction a block could not contain. The calls are generated;
// `checkTransaction`, which block execution uses, says for each what is right.

const GWEI = 10n ** 9n;
const BASE_FEE = GWEI;
const BLOB_BASE_FEE = 16n;
const GAS = 5_000_000n;
const OTHER: Hex = `0x${"00".repeat(19)}aa`;
const SIGNATURE = { r: ZERO_HASH, s: ZERO_HASH, yParity: 0 } as const;
const blobHash = (version: string): Hex => `0x${version}${"11".repeat(31)}`;
const L1_CONFIG = {
  chainId: 1337,
  ...Object.fromEntries(
    ["homestead", "eip150", "eip155", "eip158", "byzantium", "constantinople", "petersburg", "istanbul", "berlin", "london"].map(
      (fork) => [`${fork}Block`, 0],
    ),
  ),
  terminalTotalDifficulty: 0,
  shanghaiTime: 0,
  cancunTime: 0,
  pragueTime: 0,
  osakaTime: 0,
  blobSchedule: Object.fromEntries(
    ["cancun", "prague", "osaka"].map((fork) => [fork, { target: 6, max: 9, baseFeeUpdateFraction: 5_007_716 }]),
  ),
};

interface Call {
  readonly to?: Hex;
  readonly data?: Hex;
  readonly maxFeePerGas?: Hex;
  readonly maxPriorityFeePerGas?: Hex;
  readonly maxFeePerBlobGas?: Hex;
  readonly blobVersionedHashes?: readonly Hex[];
  readonly authorizationList?: readonly object[];
}

const AUTHORIZATION = { chainId: "0x0", address: OTHER, nonce: "0x0", yParity: "0x0", r: "0x1", s: "0x1" };
const DECODED: Authorization = { chainId: 0n, address: hexToBytes(OTHER), nonce: 0n, yParity: 0, r: 1n, s: 1n };

/** The values of the fields that a call's validity depends on. Each recipient, kind, and value of fees or input is tried together. */
const recipients: readonly Call[] = [{ to: OTHER }, {}];
const inputs: readonly Call[] = [{ data: `0x${"00".repeat(49_152)}` }, { data: `0x${"00".repeat(49_153)}` }];
const fees: readonly Call[] = [
  {},
  { maxFeePerGas: toQuantity(2n * GWEI) },
  { maxFeePerGas: toQuantity(BASE_FEE - 1n) },
  { maxFeePerGas: toQuantity(2n * GWEI), maxPriorityFeePerGas: toQuantity(2n * GWEI + 1n) },
];
const kinds: readonly Call[] = [
  {},
  { authorizationList: [] },
  { authorizationList: [AUTHORIZATION] },
  ...[BLOB_BASE_FEE, BLOB_BASE_FEE - 1n].flatMap((cap) =>
    [[], ["01"], ["02"], ["00"], ["01", "02"], Array<string>(6).fill("01"), Array<string>(7).fill("01")].map((versions) => ({
      blobVersionedHashes: versions.map(blobHash),
      maxFeePerBlobGas: toQuantity(cap),
    })),
  ),
];
const calls = recipients.flatMap((to) =>
  kinds.flatMap((kind) => [...fees, ...inputs].map((rest): Call => ({ ...to, ...kind, ...rest }))),
);

/** Why a block of the chain could not contain the call's transaction; blobs count as supported, as calls of an OP Stack chain may have them. */
function faultOf(config: object, call: Call): string | undefined {
  const rules = blockRules(parseChainConfig(config), { number: 1, timestamp: GENESIS_TIME_SEC + 2 });
  const maxFeePerGas = BigInt(call.maxFeePerGas ?? 0);
  const market = {
    chainId: rules.chainId,
    nonce: 0n,
    gasLimit: GAS,
    value: 0n,
    accessList: [],
    signature: SIGNATURE,
    to: call.to === undefined ? undefined : hexToBytes(call.to),
    data: hexToBytes(call.data ?? "0x"),
    maxFeePerGas,
    maxPriorityFeePerGas: BigInt(call.maxPriorityFeePerGas ?? 0),
  };
  const maxFeePerBlobGas = BigInt(call.maxFeePerBlobGas ?? 0);
  const tx: SignedTransaction =
    call.blobVersionedHashes !== undefined
      ? { type: 0x03, ...market, maxFeePerBlobGas, blobVersionedHashes: call.blobVersionedHashes.map((hash) => hexToBytes(hash)) }
      : call.authorizationList !== undefined
        ? { type: 0x04, ...market, authorizationList: call.authorizationList.map(() => DECODED) }
        : { type: 0x02, ...market };
  const max = rules.blobParams ?? { target: 1_000, max: 1_000, baseFeeUpdateFraction: 1n };
  const fault = checkTransaction({ ...rules, acceptsBlobs: true, blobParams: max as NonNullable<typeof rules.blobParams> }, tx);
  if (fault !== undefined) return fault;
  if (call.maxFeePerGas !== undefined && maxFeePerGas < BASE_FEE) return "fee-cap-below-base-fee";
  return tx.type === 0x03 && maxFeePerBlobGas < BLOB_BASE_FEE ? "blob-fee-cap-too-low" : undefined;
}

const chains = { L1: L1_CONFIG, L2: JOVIAN_CONFIG, Karst: { ...JOVIAN_CONFIG, karstTime: 0 } };

const testProfile = (profile: "R" | "G"): void => {
  describe.each(["L1", "L2", "Karst"] as const)("%s", (chain) => {
    let node: TestClient;
    beforeAll(async () => {
      node = await startTestClient([`--profile=${profile}`], undefined, { config: chains[chain] });
    });
    afterAll(() => node.remove());

    const blockOverrides = { baseFeePerGas: toQuantity(BASE_FEE), blobBaseFee: toQuantity(BLOB_BASE_FEE) };
    const isRefused = (method: string, call: Call): Promise<boolean> => {
      const full = { from: RICH_ADDRESS, gas: toQuantity(GAS), ...call };
      const params =
        method === "eth_simulateV1"
          ? [{ blockStateCalls: [{ blockOverrides, calls: [full] }] }, "latest"]
          : [full, "latest", {}, blockOverrides];
      return node.rpc.call(method, params).then(
        () => false,
        () => true,
      );
    };

    it.each(["eth_call", "eth_estimateGas", "eth_createAccessList", "eth_simulateV1"])("%s", async (method) => {
      const wrong: object[] = [];
      for (const call of calls) {
        const fault = faultOf(chains[chain], call);
        if ((await isRefused(method, call)) === (fault !== undefined)) continue;
        wrong.push({ ...call, data: `${(call.data ?? "0x").length / 2 - 1} bytes`, fault });
      }
      expect(wrong.slice(0, 5)).toEqual([]);
    });
  });
};
describe("calls and transactions have the same rules, profile R", () => testProfile("R"));
describe("calls and transactions have the same rules, profile G", { tags: "long" }, () => testProfile("G"));

/** The smallest inputs of each fault: fields, R's code and text, and G's text, which begins with `err: ` and ends with the gas. */
const SENDER = "0x000000000000000000000000000000000000000A";
const words: readonly (readonly [name: string, call: Call, r: readonly [code: number, text: string], g: string])[] = [
  [
    "a blob fee cap below the blob base fee",
    { to: OTHER, blobVersionedHashes: [blobHash("01")], maxFeePerBlobGas: "0x1" },
    [-32003, "max fee per blob gas less than block blob gas fee"],
    `max fee per blob gas less than block blob gas fee: address ${SENDER} blobGasFeeCap: 1, blobBaseFee: 16`,
  ],
  [
    "no blobs",
    { to: OTHER, blobVersionedHashes: [] },
    [-32003, "blob transaction missing blob hashes"],
    "blob transaction missing blob hashes",
  ],
  [
    "a blob hash of version 2",
    { to: OTHER, blobVersionedHashes: [blobHash("02")] },
    [-32003, "blob hash version mismatch"],
    "blob 0 has invalid hash version",
  ],
  [
    "a blob hash of version 2 after one of version 1",
    { to: OTHER, blobVersionedHashes: [blobHash("01"), blobHash("02")] },
    [-32003, "blob hash version mismatch"],
    "blob 1 has invalid hash version",
  ],
  [
    "seven blobs",
    { to: OTHER, blobVersionedHashes: Array<Hex>(7).fill(blobHash("01")) },
    [-32003, "blob transaction exceeds max blobs per block; got 7"],
    "blob transaction has too many blobs",
  ],
  [
    "blobs in a creation",
    { blobVersionedHashes: [blobHash("01")] },
    [-32003, "blob transaction is a create transaction"],
    "blob transaction of type create",
  ],
  [
    "no authorizations",
    { to: OTHER, authorizationList: [] },
    [-32003, "EIP-7702 authorization list has invalid fields"],
    `EIP-7702 transaction with empty auth list (sender ${SENDER})`,
  ],
  [
    "authorizations in a creation",
    { authorizationList: [AUTHORIZATION] },
    [-32003, "EIP-7702 authorization list has invalid fields"],
    `EIP-7702 transaction cannot be used to create contract (sender ${SENDER})`,
  ],
  [
    "init code of 49,153 bytes",
    { data: `0x${"00".repeat(49_153)}` },
    [-32003, "max initcode size exceeded"],
    "max initcode size exceeded: code size 49153 limit 49152",
  ],
];

describe.each(["R", "G"] as const)("words of invalid calls, profile %s", (profile) => {
  let node: TestClient;
  beforeAll(async () => {
    node = await startTestClient([`--profile=${profile}`], undefined, { config: L1_CONFIG });
  });
  afterAll(() => node.remove());

  it.each(words)("%s", async (_, call, [code, text], g) => {
    const params = [{ from: SENDER.toLowerCase(), ...call }, "latest", {}, { blobBaseFee: "0x10" }];
    const isR = profile === "R";
    await expect(node.rpc.call("eth_call", params)).rejects.toMatchObject(
      isR ? { code, message: text } : { code: -32000, message: `err: ${g} (supplied gas 50000000)` },
    );
    await expect(node.rpc.call("eth_estimateGas", params)).rejects.toMatchObject(
      isR ? { code, message: text } : { code: -32000, message: `failed with 16777216 gas: ${g}` },
    );
  });
});
