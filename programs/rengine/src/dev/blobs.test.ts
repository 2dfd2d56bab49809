import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { isMerkleBranch } from "@rnode/dev-chain";
import { createKzg } from "@rnode/kzg";
import { isBlobProved } from "@rnode/kzg/testing";
import { BeaconClient, createBeaconMetrics } from "@rnode/l1";
import { noMetrics, silentLogger } from "@rnode/observe";
import { bytesToHex, hexToBytes, sha256 } from "@rnode/primitives";
import { systemClock } from "@rnode/program";
import { foundryBinary, runProgram } from "@rnode/program/testing";
import { createPublicClient, createWalletClient, type Hex, http, stringToHex, toBlobs } from "viem";
import { mnemonicToAccount } from "viem/accounts";
import { foundry } from "viem/chains";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type DevClient, startDevTestClient } from "../testing/dev-client.ts";

const require = createRequire(import.meta.url);
interface Library {
  blobToKzgCommitment(blob: Uint8Array): Uint8Array;
  computeBlobKzgProof(blob: Uint8Array, commitment: Uint8Array): Uint8Array;
}
const library = (
  require("@crate-crypto/node-eth-kzg") as { DasContextJs: { create(options: object): Library } }
).DasContextJs.create({
  usePrecomp: false,
});
const kzg = {
  blobToKzgCommitment: (blob: Uint8Array) => library.blobToKzgCommitment(blob),
  computeBlobKzgProof: (blob: Uint8Array, commitment: Uint8Array) => library.computeBlobKzgProof(blob, commitment),
};
const { g2_monomial } = JSON.parse(
  readFileSync(join(dirname(require.resolve("viem/package.json")), "trusted-setups", "mainnet.json"), "utf8"),
) as { g2_monomial: readonly Hex[] };
/** It loads the trusted setup, seconds of work, with each run. */
const CAST_TIMEOUT_MS = 90_000;
const alice = mnemonicToAccount("test test test test test test test test test test test junk");
const bob = mnemonicToAccount("test test test test test test test test test test test junk", { addressIndex: 1 });

interface Sidecar {
  readonly index: string;
  readonly blob: Hex;
  readonly kzg_commitment: Hex;
  readonly kzg_proof: Hex;
  readonly signed_block_header: { readonly message: Readonly<Record<string, string>> };
  readonly kzg_commitment_inclusion_proof: readonly Hex[];
}

describe("blobs at cancun", { tags: "long" }, () => testFork("cancun"));
describe("blobs at prague", { tags: "long" }, () => testFork("prague"));
describe("blobs at osaka", () => testFork("osaka"));

function testFork(fork: "cancun" | "prague" | "osaka"): void {
  let dev: DevClient;
  const get = async (path: string) => {
    const response = await fetch(`${dev.url}/eth/v1/${path}`);
    return { status: response.status, json: (await response.json()) as { data?: unknown; code?: number; message?: string } };
  };
  const clients = () => ({
    reader: createPublicClient({ chain: foundry, transport: http(dev.url) }),
    wallet: createWalletClient({ account: alice, chain: foundry, transport: http(dev.url) }),
  });
  const sendBlobs = (texts: readonly string[], maxFeePerBlobGas = 10n, nonce?: number) =>
    clients().wallet.sendTransaction({
      to: bob.address,
      kzg,
      blobs: texts.flatMap((text) => toBlobs({ data: stringToHex(text) })),
      maxFeePerBlobGas,
      gas: 21_000n, // an estimate refuses a low blob fee
      ...(nonce !== undefined && { nonce }),
    });
  beforeAll(async () => {
    // From sources, blobs are checked in this thread, and the first one loads the trusted setup.
    const warmUp = createKzg();
    await warmUp.commitment(new Uint8Array(131_072));
    await warmUp.close();
    kzg.blobToKzgCommitment(new Uint8Array(131_072));
    dev = await startDevTestClient(`--dev.fork=${fork}`);
  });
  afterAll(() => dev.close());

  it("of viem are in the block, the pool's check agrees with the library's, and our own reader of L1 accepts them", async () => {
    const { reader } = clients();
    const hash = await sendBlobs(["first", "second"]);
    const receipt = await reader.getTransactionReceipt({ hash });
    expect([receipt.status, receipt.blobGasUsed]).toEqual(["success", 262_144n]);
    const block = await reader.getBlock({ blockNumber: receipt.blockNumber });
    const { blobVersionedHashes = [] } = await reader.getTransaction({ hash });
    const beacon = new BeaconClient(
      { urls: [dev.url], fetchesAll: false },
      { kzg: createKzg(), clock: systemClock, log: silentLogger, metrics: createBeaconMetrics(noMetrics) },
    );
    try {
      expect(await beacon.version()).toMatch(/^rengine\//);
      expect(await beacon.l1ChainId()).toBe(31_337n);
      const ref = {
        hash: block.hash,
        number: Number(block.number),
        parentHash: block.parentHash,
        timestamp: Number(block.timestamp),
      };
      const found = await beacon.blobs(
        ref,
        blobVersionedHashes.map((versionedHash, index) => ({ index, versionedHash: hexToBytes(versionedHash) })),
      );
      expect(found?.map((blob) => Buffer.from(blob.subarray(1, 10)).toString("latin1").replaceAll("\0", ""))).toEqual([
        expect.stringContaining("first"),
        expect.stringContaining("second"),
      ]);
    } finally {
      await beacon.close();
    }
  });

  it("have headers whose roots are right, by slot, root and name", async () => {
    const head = await get("beacon/headers/head");
    type Header = { root: Hex; canonical: boolean; header: { message: Record<string, string>; signature: Hex } };
    const { root, header } = head.json.data as Header;
    expect(await computedRoot(header.message)).toBe(root);
    for (const id of [root, header.message.slot]) expect((await get(`beacon/headers/${id}`)).json).toEqual(head.json);
    const parent = (await get(`beacon/headers/${header.message.parent_root}`)).json.data as Header;
    expect(Number(parent.header.message.slot)).toBeLessThan(Number(header.message.slot));
    // What the execution block says of its parent is where EIP-4788's contract has it from.
    const block = await clients().reader.getBlock();
    expect(block.parentBeaconBlockRoot).toBe(parent.root);
    expect((await get(`beacon/headers?slot=${header.message.slot}`)).json.data).toMatchObject([{ root }]);
    expect((await get(`beacon/headers?parent_root=${parent.root}`)).json.data).toMatchObject([{ root }]);
    expect(((await get("beacon/headers/genesis")).json.data as Header).header.message.slot).toBe("0");
  });

  it("are refused in the API's form where they are not", async () => {
    expect(await get("beacon/headers/123456789")).toEqual({
      status: 404,
      json: { code: 404, message: expect.stringContaining("123456789") },
    });
    for (const path of ["beacon/headers/abc", "beacon/blobs/0x12", "beacon/blobs/head?versioned_hashes=zz"])
      expect(await get(path)).toMatchObject({ status: 400, json: { code: 400 } });
    expect(await get("beacon/nothing")).toMatchObject({ status: 404, json: { code: 404 } });
    expect((await get("beacon/blobs/genesis")).json.data).toEqual([]);
    const spec = (await get("config/spec")).json.data as Record<string, string>;
    expect(spec.SECONDS_PER_SLOT).toBe("1");
    expect(spec.FULU_FORK_EPOCH).toBe(fork === "osaka" ? "0" : "18446744073709551615");
  });

  it.runIf(fork !== "osaka")(
    "have sidecars, whose inclusion proofs lead to the header and whose KZG proofs another library accepts",
    async () => {
      const { data } = (await get("beacon/blob_sidecars/head")).json as { data: Sidecar[] };
      expect(data.map(({ index }) => index)).toEqual(["0", "1"]);
      for (const { index, blob, kzg_commitment, kzg_proof, signed_block_header, kzg_commitment_inclusion_proof: branch } of data) {
        const commitment = hexToBytes(kzg_commitment);
        expect(isBlobProved(hexToBytes(blob), commitment, hexToBytes(kzg_proof), g2_monomial[1]!)).toBe(true);
        const leaf = sha256(Buffer.concat([commitment, Buffer.alloc(16)]));
        const position = 11 * 2 * 4096 + Number(index);
        const bodyRoot = hexToBytes(signed_block_header.message.body_root!);
        expect(branch).toHaveLength(17);
        expect(
          isMerkleBranch(
            leaf,
            branch.map((hash) => hexToBytes(hash)),
            position,
            bodyRoot,
          ),
        ).toBe(true);
        expect(
          isMerkleBranch(
            leaf,
            branch.map((hash) => hexToBytes(hash)),
            position ^ 1,
            bodyRoot,
          ),
        ).toBe(false);
      }
      expect((await get("beacon/blob_sidecars/head?indices=1")).json.data).toMatchObject([{ index: "1" }]);
      expect((await get("beacon/blob_sidecars/head?indices=0,1&indices=7")).json.data).toHaveLength(2);
      const wrong = hexToBytes(data[0]!.blob);
      wrong[5] = wrong[5]! ^ 1;
      expect(isBlobProved(wrong, hexToBytes(data[0]!.kzg_commitment), hexToBytes(data[0]!.kzg_proof), g2_monomial[1]!)).toBe(false);
    },
  );

  it("can be lost and found again", async () => {
    const number = Number(await clients().reader.getBlockNumber({ cacheTime: 0 }));
    expect(await dev.rpc.call("dev_loseBlobs", [{ blocks: [number] }])).toBe(2);
    expect((await get("beacon/blobs/head")).status).toBe(404);
    await dev.rpc.call("dev_restoreBlobs", [{ blocks: [number] }]);
    expect((await get("beacon/blobs/head")).json.data).toHaveLength(2);
    await dev.rpc.call("dev_loseBlobs", [{ blocks: [number] }]);
    expect(await dev.rpc.call("dev_restoreBlobs", [])).toBe(2);
    expect((await get("beacon/blobs/head")).json.data).toHaveLength(2);
  });

  it("survive a reorganisation with their transaction, in a block with another root", async () => {
    const before = (await get("beacon/headers/head")).json.data as { root: Hex };
    await dev.rpc.call("dev_reorg", [{ depth: 1 }]);
    const after = (await get("beacon/headers/head")).json.data as { root: Hex };
    expect(after.root).not.toBe(before.root);
    expect((await get("beacon/blobs/head")).json.data).toHaveLength(2);
    expect((await get(`beacon/headers/${before.root}`)).status === 404 || before.root !== after.root).toBe(true);
  });

  it("make the blob base fee move by the schedule, which can be helped along", async () => {
    const { reader } = clients();
    expect(await reader.getBlobBaseFee()).toBe(1n);
    await dev.rpc.call("dev_setBlobBaseFee", ["0x2540be400"]);
    await dev.rpc.call("evm_mine", []);
    const raised = await reader.getBlobBaseFee();
    expect(raised).toBeGreaterThan(8_000_000_000n);
    await dev.rpc.call("evm_mine", []);
    expect(await reader.getBlobBaseFee()).toBeLessThan(raised);
    // Too low a cap waits in the pool; a replacement must pay twice as much.
    await dev.rpc.call("dev_setBlobBaseFee", ["0x2540be400", 3]);
    await dev.rpc.call("evm_setAutomine", [false]);
    const nonce = await reader.getTransactionCount({ address: alice.address });
    await sendBlobs(["waits"], 1000n, nonce);
    await expect(sendBlobs(["other"], 1999n, nonce)).rejects.toThrow(/replacement transaction underpriced/);
    await expect(clients().wallet.sendTransaction({ to: bob.address, value: 1n, nonce: nonce + 1 })).rejects.toThrow(
      /address already reserved/,
    );
    await dev.rpc.call("anvil_dropAllTransactions", []);
    await dev.rpc.call("evm_setAutomine", [true]);
    // With automine nothing would lower the fee.
    await expect(sendBlobs(["never"], 1000n, nonce)).rejects.toThrow(/fits into no block/);
    expect(await dev.rpc.call("txpool_status", [])).toEqual({ pending: "0x0", queued: "0x0" });
  });

  it.runIf(foundryBinary("cast") !== undefined)(
    "of cast arrive as it made them",
    { tags: "long", timeout: CAST_TIMEOUT_MS },
    async () => {
      await dev.rpc.call("anvil_reset", []);
      const folder = mkdtempSync(join(tmpdir(), "rengine-cast-"));
      const data = "blob data of cast ".repeat(100);
      writeFileSync(join(folder, "data"), data);

      const sent = await runProgram(
        foundryBinary("cast")!,
        [
          ...["send", "--rpc-url", dev.url, "--blob", "--path", join(folder, "data"), "--json"],
          ...(fork === "osaka" ? [] : ["--eip4844"]),
          ...["--private-key", bytesToHex(alice.getHdKey().privateKey!), bob.address],
        ],
        {},
        CAST_TIMEOUT_MS,
      );
      expect(JSON.parse(sent)).toMatchObject({ status: "0x1", type: "0x3" });
      const [blob] = (await get("beacon/blobs/head")).json.data as Hex[];
      const bytes = hexToBytes(blob!).filter((_, index) => index % 32 !== 0);
      expect(Buffer.from(bytes).toString("latin1")).toContain(data.slice(0, 1000));
    },
  );
}

/** Of a beacon block header: five chunks, filled up to eight. */
async function computedRoot(message: Readonly<Record<string, string>>): Promise<Hex> {
  const number = (text: string): Buffer => {
    const chunk = Buffer.alloc(32);
    chunk.writeBigUInt64LE(BigInt(text));
    return chunk;
  };
  const zero = Buffer.alloc(32);
  const { slot, proposer_index, parent_root, state_root, body_root } = message;
  let level: Uint8Array[] = [number(slot!), number(proposer_index!)];
  level.push(...[parent_root!, state_root!, body_root!].map((root) => hexToBytes(root)), zero, zero, zero);
  while (level.length > 1) {
    const pairs: Uint8Array[] = [];
    for (let i = 0; i < level.length; i += 2) pairs.push(sha256(Buffer.concat([level[i]!, level[i + 1]!])));
    level = pairs;
  }
  return bytesToHex(level[0]!);
}
