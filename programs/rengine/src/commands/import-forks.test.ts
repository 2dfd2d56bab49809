import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { initGenesis, openChain } from "@rnode/chain";
import { bytesToHex, concatBytes, type Hex, hexToBytes, keccak256, padBytesLeft, ZERO_HASH } from "@rnode/primitives";
import type { Command } from "@rnode/program";
import {
  decodeBlock,
  encodeBlock,
  encodeTransaction,
  type Header,
  hashHeader,
  L1_ATTRIBUTES_DEPOSITOR,
  PREDEPLOYS,
  signTransaction,
  type Transaction,
} from "@rnode/protocol";
import { openChainStore } from "@rnode/storage";
import { beforeEach, describe, expect, it } from "vitest";
import { genesisOfSpec, loadChainSpec } from "../setup/chain-spec.ts";
import { databasePath } from "../setup/database.ts";
import { describeError } from "../setup/describe-error.ts";
import { FORK_BLOCK_TIME_SEC, FORK_GENESIS_TIME_SEC, FORK_KEY, ForkChain, forkGenesis } from "../testing/fork-chain.ts";
import { db } from "./db.ts";
import { exportBlocks } from "./export.ts";
import { importBlocks } from "./import.ts";

let folder: string;
const at = (name: string): string => join(folder, name);
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "rengine-forks-"));
});

const timeOf = (block: number): number => FORK_GENESIS_TIME_SEC + block * FORK_BLOCK_TIME_SEC;

/** All forks of Ethereum, two blocks each; from the first blob-parameter fork on, the blob counts are our own. */
const CONFIG = {
  chainId: 1337,
  homesteadBlock: 2,
  eip150Block: 4,
  eip155Block: 6,
  eip158Block: 6,
  byzantiumBlock: 8,
  constantinopleBlock: 10,
  petersburgBlock: 10,
  istanbulBlock: 12,
  muirGlacierBlock: 13,
  berlinBlock: 14,
  londonBlock: 16,
  arrowGlacierBlock: 17,
  grayGlacierBlock: 18,
  terminalTotalDifficulty: 20 * 0x20000 + 0x10000,
  shanghaiTime: timeOf(22),
  cancunTime: timeOf(24),
  pragueTime: timeOf(26),
  osakaTime: timeOf(28),
  bpo1Time: timeOf(30),
  bpo2Time: timeOf(32),
  blobSchedule: {
    cancun: { target: 3, max: 6, baseFeeUpdateFraction: 3_338_477 },
    prague: { target: 6, max: 9, baseFeeUpdateFraction: 5_007_716 },
    osaka: { target: 6, max: 9, baseFeeUpdateFraction: 5_007_716 },
    bpo1: { target: 10, max: 12, baseFeeUpdateFraction: 8_346_193 },
    bpo2: { target: 14, max: 18, baseFeeUpdateFraction: 11_684_671 },
  },
};
const BLOCKS = 34;
/** The maximum number of blobs in a block, by block number. */
const maxBlobs = (number: number): number => (number >= 32 ? 18 : number >= 30 ? 12 : number >= 26 ? 9 : 6);

const common = (chain: ForkChain) => ({ nonce: chain.takeNonce(), gasLimit: 21_000n, value: 1n, data: new Uint8Array(0) });
const receiverOf = (number: number): Uint8Array => keccak256(Uint8Array.of(number)).subarray(12);

function payment(chain: ForkChain): Transaction {
  const to = receiverOf(chain.head.number);
  const isReplayProtected = chain.head.number + 1 >= CONFIG.eip155Block;
  const fields = { type: 0 as const, ...common(chain), to, gasPrice: 10n ** 10n };
  return signTransaction({ ...fields, chainId: isReplayProtected ? 1337n : undefined }, FORK_KEY);
}

/** Blob transactions with at most six blobs each, Osaka's limit. */
function blobTransactions(chain: ForkChain, blobs: number): Transaction[] {
  return Array.from({ length: Math.ceil(blobs / 6) }, (_, index) => {
    const hashes = Array.from({ length: Math.min(6, blobs - 6 * index) }, (__, i) => padBytesLeft(Uint8Array.of(index, i), 32));
    for (const hash of hashes) hash[0] = 1;
    return signTransaction(
      {
        type: 3 as const,
        ...common(chain),
        to: receiverOf(chain.head.number),
        chainId: 1337n,
        maxPriorityFeePerGas: 1n,
        maxFeePerGas: 10n ** 11n,
        maxFeePerBlobGas: 10n ** 9n,
        accessList: [],
        blobVersionedHashes: hashes,
      },
      FORK_KEY,
    );
  });
}

async function makeChain(): Promise<ForkChain> {
  writeFileSync(at("genesis.json"), JSON.stringify(forkGenesis(CONFIG)));
  const chain = await ForkChain.open(at("genesis.json"), at("maker"));
  let sibling: Header | undefined;
  for (let number = 1; number <= BLOCKS; number++) {
    // A sibling of the previous block, as another miner would have made it.
    const ommers = number === 9 && sibling !== undefined ? [sibling] : [];
    if (number === 8) sibling = { ...chain.template(), extraData: Uint8Array.of(7) };
    const first = payment(chain);
    const blobs = number >= 24 ? blobTransactions(chain, maxBlobs(number)) : [];
    const header = chain.add([first, ...blobs], ommers);
    if (number === 8) sibling = { ...sibling!, difficulty: header.difficulty };
  }
  return chain;
}

async function run(command: Command, ...args: string[]) {
  const out: string[] = [];
  const io = { out: (line: string) => out.push(line), err: () => {}, progress: () => {} };
  try {
    return { code: await command(args, {}, io), out };
  } catch (error) {
    return { code: 1, out: [...out, describeError(error)] };
  }
}

const importInto = (datadir: string, blocks: readonly Uint8Array[], ...args: string[]) => {
  writeFileSync(at("blocks.rlp"), concatBytes(...blocks));
  return run(importBlocks, `--chain=${at("genesis.json")}`, `--datadir=${at(datadir)}`, ...args, at("blocks.rlp"));
};

describe("a chain from proof of work to blob-parameter forks", () => {
  it("is imported in groups of any size, verified and exported again", { tags: "long" }, async () => {
    const chain = await makeChain();
    await chain.close();
    const headers = chain.blocks.map((rlp) => decodeBlock(rlp).header);
    // The chain really covers what it should.
    const lastOfWork = headers.findLast(({ difficulty }) => difficulty > 0n)!.number;
    expect(lastOfWork).toBeGreaterThan(CONFIG.londonBlock);
    expect(lastOfWork).toBeLessThan(21);
    expect(decodeBlock(chain.blocks[8]!).ommers).toHaveLength(1);
    expect(headers.map(({ blobGasUsed }) => Number(blobGasUsed ?? 0n) / 131_072).slice(22)).toEqual([
      0, 6, 6, 9, 9, 9, 9, 12, 12, 18, 18, 18,
    ]);
    expect(headers.at(-1)!.requestsHash).toBeDefined();

    for (const batch of ["1", "5", "64"]) {
      const imported = await importInto(`batch-${batch}`, chain.blocks, `--batch=${batch}`);
      expect(imported).toEqual({ code: 0, out: [`head ${BLOCKS} ${chain.hashes.at(-1)}`] });
      expect((await run(db, "verify", `--datadir=${at(`batch-${batch}`)}`)).out.at(-1)).toBe("verified");
    }
    const exported = await run(exportBlocks, `--datadir=${at("batch-5")}`, "--from=1", at("out.rlp"));
    expect(exported).toEqual({ code: 0, out: [`exported ${BLOCKS} blocks to ${at("out.rlp")}`] });
    expect(new Uint8Array(readFileSync(at("out.rlp")))).toEqual(concatBytes(...chain.blocks));
    const store = openChainStore(databasePath(at("batch-64")), { readOnly: true });
    const totals = headers.reduce((sum, { difficulty }) => sum + difficulty, 0x20000n);
    expect(store.readTotalDifficulty(hexToBytes(chain.hashes.at(-1)!))).toBe(totals);
    await store.close();
  });

  /** The encoded blocks, with changed header fields in the block of this number; later blocks still build on the correct one. */
  const spoiled = (blocks: readonly Uint8Array[], number: number, fields: (header: Header) => Partial<Header>) =>
    blocks.map((rlp) => {
      const block = decodeBlock(rlp);
      return block.header.number === number ? encodeBlock({ ...block, header: { ...block.header, ...fields(block.header) } }) : rlp;
    });

  it("is refused at the block that breaks a rule, with number and rule; what came before stays", { tags: "long" }, async () => {
    const chain = await makeChain();
    await chain.close();
    const cases: [number, (header: Header) => Partial<Header>, string][] = [
      [3, ({ difficulty }) => ({ difficulty: difficulty + 1n }), "difficulty-mismatch"],
      [9, () => ({ ommersHash: keccak256(Uint8Array.of(1)) }), "ommers-hash-mismatch"],
      [11, ({ gasLimit }) => ({ gasLimit: 2n * gasLimit }), "gas-limit-out-of-bounds"],
      [16, () => ({ baseFeePerGas: undefined }), "base-fee-presence"],
      [17, () => ({ baseFeePerGas: 7n }), "base-fee-mismatch"],
      [18, () => ({ difficulty: 0n }), "terminal-difficulty-not-reached"],
      [21, () => ({ difficulty: 0x20000n }), "difficulty-mismatch"],
      [22, () => ({ withdrawalsRoot: undefined }), "withdrawals-root-presence"],
      [25, ({ excessBlobGas }) => ({ excessBlobGas: excessBlobGas! + 1n }), "excess-blob-gas-mismatch"],
      [26, () => ({ requestsHash: keccak256(Uint8Array.of(1)) }), "requests-hash-mismatch"],
      [29, ({ blobGasUsed }) => ({ blobGasUsed: blobGasUsed! + 131_072n }), "blob-gas-above-maximum"],
      [31, ({ blobGasUsed }) => ({ blobGasUsed: blobGasUsed! + 131_072n }), "blob-gas-above-maximum"],
      [33, () => ({ stateRoot: keccak256(Uint8Array.of(1)) }), "state-root-mismatch"],
    ];
    for (const [number, fields, rule] of cases) {
      const blocks = spoiled(chain.blocks, number, fields);
      const hash = bytesToHex(hashHeader(decodeBlock(blocks[number - 1]!).header));
      const { code, out } = await importInto(`bad-${number}`, blocks, "--batch=7");
      expect({ number, code }).toEqual({ number, code: 1 });
      expect(out.at(-1)).toMatch(new RegExp(`blocks\\.rlp: block ${number} ${hash} is invalid: ${rule}`));
      const store = openChainStore(databasePath(at(`bad-${number}`)), { readOnly: true });
      expect(store.head()).toEqual({ number: number - 1, hash: chain.hashes[number - 1] });
      await store.close();
    }
    // After the block is corrected, the import continues from there.
    expect(await importInto("bad-29", chain.blocks)).toEqual({ code: 0, out: [`head ${BLOCKS} ${chain.hashes.at(-1)}`] });
  });
});

describe("an OP Stack chain from Canyon to Jovian", () => {
  const FORKS = ["ecotone", "fjord", "granite", "holocene", "isthmus", "jovian"] as const;
  /** Timestamp of a fork: two blocks per fork, with the first fork at block 3. */
  const timeOfFork = (index: number): number => timeOf(3 + 2 * index);
  const OP_BLOCKS = 2 + 2 * FORKS.length;
  const OP_GENESIS = {
    config: {
      chainId: 901,
      bedrockBlock: 0,
      regolithTime: 0,
      canyonTime: 0,
      deltaTime: 0,
      ...Object.fromEntries(FORKS.map((fork, index) => [`${fork}Time`, timeOfFork(index)])),
      optimism: { eip1559Elasticity: 6, eip1559Denominator: 50, eip1559DenominatorCanyon: 250 },
    },
    timestamp: `0x${FORK_GENESIS_TIME_SEC.toString(16)}`,
    gasLimit: "0x1c9c380",
    baseFeePerGas: "0x3b9aca00",
    alloc: {
      [bytesToHex(PREDEPLOYS.l2ToL1MessagePasser)]: { nonce: "0x1", storage: { [`0x${"00".repeat(32)}`]: "0x1" } },
      [bytesToHex(PREDEPLOYS.l1Block)]: { nonce: "0x1" },
    },
  };

  async function makeOpChain(): Promise<{ blocks: Uint8Array[]; hashes: Hex[] }> {
    writeFileSync(at("genesis.json"), JSON.stringify(OP_GENESIS));
    const spec = await loadChainSpec({ chain: at("genesis.json") });
    const store = openChainStore(at("maker"), { sync: "interval" });
    initGenesis(store, await genesisOfSpec(spec));
    const chain = openChain({ store, config: spec.config, nowMs: () => 0 });
    const choose = (head: Uint8Array) => ({ headBlockHash: head, safeBlockHash: ZERO_HASH, finalizedBlockHash: ZERO_HASH });
    const blocks: Uint8Array[] = [];
    const hashes: Hex[] = [chain.head().hash];
    for (let number = 1; number <= OP_BLOCKS; number++) {
      const timestamp = timeOf(number);
      const has = (fork: (typeof FORKS)[number]): boolean => timestamp >= timeOfFork(FORKS.indexOf(fork));
      const deposit = {
        type: 0x7e as const,
        sourceHash: keccak256(Uint8Array.of(number)),
        from: L1_ATTRIBUTES_DEPOSITOR,
        to: receiverOf(number),
        mint: BigInt(number),
        value: BigInt(number),
        gasLimit: 100_000n,
        isSystemTx: false,
        data: new Uint8Array(0),
      };
      const l1Attributes = { ...deposit, sourceHash: keccak256(deposit.sourceHash), to: PREDEPLOYS.l1Block, mint: 0n, value: 0n };
      const attributes = {
        timestamp,
        prevRandao: ZERO_HASH,
        suggestedFeeRecipient: PREDEPLOYS.sequencerFeeVault,
        withdrawals: [],
        parentBeaconBlockRoot: has("ecotone") ? ZERO_HASH : undefined,
        transactions: [l1Attributes, deposit].map(encodeTransaction),
        noTxPool: true,
        gasLimit: 30_000_000n,
        eip1559Params: has("holocene") ? hexToBytes("0x000000fa00000006") : undefined,
        minBaseFee: has("jovian") ? 0n : undefined,
      };
      const version = has("ecotone") ? 3 : 2;
      const started = chain.forkchoiceUpdated(choose(hexToBytes(chain.head().hash)), attributes, version);
      if (started.kind !== "updated" || started.payloadId === undefined) throw new Error(`${number}: ${JSON.stringify(started)}`);
      const { block, hash } = chain.getPayload(started.payloadId)!;
      chain.forkchoiceUpdated(choose(hash), undefined, version);
      blocks.push(encodeBlock(block));
      hashes.push(bytesToHex(hash));
    }
    await chain.close();
    return { blocks, hashes };
  }

  it("is imported, and refused at the block that breaks a rule of its fork", async () => {
    const { blocks, hashes } = await makeOpChain();
    const headers = blocks.map((rlp) => decodeBlock(rlp).header);
    const first = (has: (header: Header) => boolean): number => headers.find(has)!.number;
    expect([
      first(({ parentBeaconBlockRoot }) => parentBeaconBlockRoot !== undefined),
      first(({ extraData }) => extraData.length === 9),
      first(({ requestsHash }) => requestsHash !== undefined),
      first(({ extraData }) => extraData.length === 17),
    ]).toEqual([3, 9, 11, 13]);
    for (const batch of ["1", "6", "64"]) {
      expect(await importInto(`op-${batch}`, blocks, `--batch=${batch}`)).toEqual({
        code: 0,
        out: [`head ${OP_BLOCKS} ${hashes.at(-1)}`],
      });
      expect((await run(db, "verify", `--datadir=${at(`op-${batch}`)}`)).out.at(-1)).toBe("verified");
    }
    await run(exportBlocks, `--datadir=${at("op-6")}`, "--from=1", at("out.rlp"));
    expect(new Uint8Array(readFileSync(at("out.rlp")))).toEqual(concatBytes(...blocks));
    const cases: [number, Partial<Header>, string][] = [
      [4, { excessBlobGas: 1n }, "excess-blob-gas-mismatch"],
      [8, { extraData: Uint8Array.of(0) }, "extra-data-form"],
      [10, { extraData: new Uint8Array(0) }, "extra-data-form"],
      [12, { withdrawalsRoot: keccak256(Uint8Array.of(1)) }, "withdrawals-root-mismatch"],
      [13, { extraData: hexToBytes("0x00000000fa00000006") }, "extra-data-form"],
    ];
    for (const [number, fields, rule] of cases) {
      const bad = blocks.map((rlp, index) => {
        const block = decodeBlock(rlp);
        return index === number - 1 ? encodeBlock({ ...block, header: { ...block.header, ...fields } }) : rlp;
      });
      const { code, out } = await importInto(`op-bad-${number}`, bad);
      expect({ number, code }).toEqual({ number, code: 1 });
      expect(out.at(-1)).toMatch(new RegExp(`block ${number} 0x[0-9a-f]{64} is invalid: ${rule}`));
      const store = openChainStore(databasePath(at(`op-bad-${number}`)), { readOnly: true });
      expect(store.head()).toEqual({ number: number - 1, hash: hashes[number - 1] });
      await store.close();
    }
  });
});
