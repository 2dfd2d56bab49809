import { createRequire } from "node:module";
import { createKzg } from "@rnode/kzg";
import {
  bytesToHex,
  concatBytes,
  decodeRlp,
  encodeRlp,
  type Hex,
  hexToBytes,
  type RlpItem,
  sha256,
  toQuantity,
} from "@rnode/primitives";
import {
  CONSOLIDATION_REQUESTS_ADDRESS,
  encodeTransaction,
  hashTransaction,
  signTransaction,
  WITHDRAWAL_REQUESTS_ADDRESS,
} from "@rnode/protocol";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { CHAIN_ID, GENESIS_TIME_SEC, RICH_ADDRESS, RICH_KEY, startTestClient, type TestClient } from "../testing/test-client.ts";

interface Kzg {
  blobToKzgCommitment(blob: Uint8Array): Uint8Array;
  computeBlobKzgProof(blob: Uint8Array, commitment: Uint8Array): Uint8Array;
  computeCellsAndKzgProofs(blob: Uint8Array): { proofs: Uint8Array[] };
}
const require = createRequire(import.meta.resolve("@rnode/chain"));
const kzg = (require("@crate-crypto/node-eth-kzg") as { DasContextJs: { create(options: object): Kzg } }).DasContextJs.create({
  usePrecomp: false,
});

const ZERO = `0x${"00".repeat(32)}`;
const OTHER = "0x00000000000000000000000000000000000000aa";
const BLOB = new Uint8Array(131_072);
for (let at = 1; at < BLOB.length; at += 32) BLOB[at] = at % 251; // the first byte of each field element stays 0
const COMMITMENT = Uint8Array.from(kzg.blobToKzgCommitment(BLOB));
const PROOF = Uint8Array.from(kzg.computeBlobKzgProof(BLOB, COMMITMENT));
const CELL_PROOFS = kzg.computeCellsAndKzgProofs(BLOB).proofs.map((proof) => Uint8Array.from(proof));
const HASH = sha256(COMMITMENT).slice();
HASH[0] = 1;

const forks = {
  chainId: CHAIN_ID,
  terminalTotalDifficulty: 0,
  terminalTotalDifficultyPassed: true,
  shanghaiTime: 0,
  cancunTime: 0,
  pragueTime: 0,
};
const params = { target: 6, max: 9, baseFeeUpdateFraction: 5_007_716 };
const blobSchedule = { cancun: params, prague: params, osaka: params };
const PRAGUE = { ...forks, blobSchedule };
/** The system contracts, without requests. */
const SYSTEM_CONTRACTS = Object.fromEntries(
  [WITHDRAWAL_REQUESTS_ADDRESS, CONSOLIDATION_REQUESTS_ADDRESS].map((address) => [
    bytesToHex(address),
    { balance: "0x0", nonce: "0x1", code: "0x00" },
  ]),
);
const OSAKA = { ...PRAGUE, osakaTime: 0 };

function blobTransaction(
  nonce: bigint,
  fields: {
    readonly version: 0 | 1;
    readonly proofs?: Uint8Array[];
    readonly blob?: Uint8Array;
    readonly maxFeePerBlobGas?: bigint;
  },
) {
  const transaction = signTransaction(
    {
      type: 0x03,
      chainId: BigInt(CHAIN_ID),
      nonce,
      gasLimit: 21_000n,
      to: hexToBytes(OTHER),
      value: 1n,
      data: new Uint8Array(0),
      maxFeePerGas: 3_000_000_000n,
      maxPriorityFeePerGas: 1n,
      maxFeePerBlobGas: fields.maxFeePerBlobGas ?? 10n,
      accessList: [],
      blobVersionedHashes: [HASH],
    },
    hexToBytes(RICH_KEY),
  );
  const proofs = fields.proofs ?? (fields.version === 1 ? CELL_PROOFS : [PROOF]);
  const rest: RlpItem[] = [[fields.blob ?? BLOB], [COMMITMENT], proofs];
  const body = decodeRlp(encodeTransaction(transaction).subarray(1));
  const raw = concatBytes(Uint8Array.of(0x03), encodeRlp([body, ...(fields.version === 1 ? [Uint8Array.of(1)] : []), ...rest]));
  return { raw: bytesToHex(raw), hash: bytesToHex(hashTransaction(transaction)) };
}

describe.each([
  { fork: "Prague", config: PRAGUE, version: 0 as const, getPayload: "engine_getPayloadV4" },
  { fork: "Osaka", config: OSAKA, version: 1 as const, getPayload: "engine_getPayloadV5" },
])("blob transactions on an Ethereum chain at $fork", ({ config, version, getPayload }) => {
  let node: TestClient;
  beforeAll(async () => {
    // The first proof loads the trusted setup, which takes seconds.
    const own = createKzg();
    expect(await own.verifyBlobProof(BLOB, COMMITMENT, PROOF)).toBe(true);
    await own.close();
    node = await startTestClient([], undefined, { config, alloc: SYSTEM_CONTRACTS });
  });
  afterAll(() => node.remove());

  const send = ({ raw }: { raw: string }) => node.rpc.call<string>("eth_sendRawTransaction", [raw]);

  it("are refused with blobs that are not theirs, and with a sidecar of another fork", async () => {
    const other = BLOB.slice();
    other[1] = 200;
    await expect(send(blobTransaction(0n, { version, blob: other }))).rejects.toMatchObject({ code: -32602 });
    const wrong = version === 1 ? [...CELL_PROOFS.slice(1), CELL_PROOFS[0]!] : [new Uint8Array(48).fill(0xc0)];
    await expect(send(blobTransaction(0n, { version, proofs: wrong }))).rejects.toMatchObject({ code: -32602 });
    await expect(send(blobTransaction(0n, { version: version === 1 ? 0 : 1 }))).rejects.toMatchObject({ code: -32602 });
    expect(await node.rpc.call("txpool_status")).toEqual({ pending: "0x0", queued: "0x0" });
  });

  it("go into a block, their blobs beside it", async () => {
    const first = blobTransaction(0n, { version });
    expect(await send(first)).toBe(first.hash);
    await expect(send(blobTransaction(0n, { version, maxFeePerBlobGas: 10n }))).rejects.toMatchObject({ message: "already known" });
    expect(await node.rpc.call("eth_getTransactionByHash", [first.hash])).toMatchObject({
      type: "0x3",
      blobVersionedHashes: [bytesToHex(HASH)],
    });
    const [own, unknown] = [bytesToHex(HASH), `0x01${"ee".repeat(31)}`];
    const blobs = (name: string, hashes: readonly string[]) => node.engine.call(`engine_getBlobs${name}`, [hashes]);
    const blob = bytesToHex(BLOB);
    if (version === 0) {
      expect(await blobs("V1", [unknown, own])).toEqual([null, { blob, proof: bytesToHex(PROOF) }]);
      for (const name of ["V2", "V3"]) expect(await blobs(name, [own])).toBeNull();
    } else {
      const found = { blob, proofs: CELL_PROOFS.map(bytesToHex) };
      await expect(blobs("V1", [own])).rejects.toMatchObject({ code: -38005, message: "Unsupported fork" });
      expect(await blobs("V2", [own])).toEqual([found]);
      expect(await blobs("V2", [own, unknown])).toBeNull();
      expect(await blobs("V3", [own, unknown, own])).toEqual([found, null, found]);
    }
    const { hash: head } = await node.engine.call<{ hash: Hex }>("eth_getBlockByNumber", ["latest", false]);
    const state = { headBlockHash: head, safeBlockHash: ZERO, finalizedBlockHash: ZERO };
    const attributes = {
      timestamp: toQuantity(GENESIS_TIME_SEC + 12),
      prevRandao: ZERO,
      suggestedFeeRecipient: OTHER,
      withdrawals: [],
      parentBeaconBlockRoot: ZERO,
    };
    const { payloadId } = await node.engine.call<{ payloadId: Hex }>("engine_forkchoiceUpdatedV3", [state, attributes]);
    const built = await node.engine.call<{
      executionPayload: { blockHash: Hex; blobGasUsed: Hex };
      blobsBundle: object;
      executionRequests: Hex[];
    }>(getPayload, [payloadId]);
    expect(built.blobsBundle).toEqual({
      commitments: [bytesToHex(COMMITMENT)],
      proofs: (version === 1 ? CELL_PROOFS : [PROOF]).map(bytesToHex),
      blobs: [bytesToHex(BLOB)],
    });
    expect(built.executionPayload.blobGasUsed).toBe("0x20000");
    const { executionPayload, executionRequests } = built;
    const imported = await node.engine.call("engine_newPayloadV4", [executionPayload, [bytesToHex(HASH)], ZERO, executionRequests]);
    expect(imported).toMatchObject({ status: "VALID" });
    await node.engine.call("engine_forkchoiceUpdatedV3", [{ ...state, headBlockHash: executionPayload.blockHash }, null]);
    expect(await node.rpc.call("eth_getTransactionReceipt", [first.hash])).toMatchObject({
      status: "0x1",
      blobGasUsed: "0x20000",
      blobGasPrice: "0x1",
    });
    expect(await node.rpc.call("txpool_status")).toEqual({ pending: "0x0", queued: "0x0" });
    expect(await blobs(version === 0 ? "V1" : "V3", [own])).toEqual([null]); // the blobs left the pool with their transaction
  });

  it("count their blobs among what the sender must have, and are replaced by their like only", async () => {
    const balance = BigInt(await node.rpc.call<Hex>("eth_getBalance", [RICH_ADDRESS, "latest"]));
    await expect(send(blobTransaction(1n, { version, maxFeePerBlobGas: balance / 131_072n }))).rejects.toMatchObject({
      message: expect.stringMatching(/insufficient funds/),
    });
    await send(blobTransaction(1n, { version }));
    await expect(send(blobTransaction(1n, { version, maxFeePerBlobGas: 11n }))).rejects.toMatchObject({
      message: "replacement transaction underpriced",
    });
  });
});
