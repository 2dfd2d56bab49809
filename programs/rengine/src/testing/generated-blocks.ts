import { initGenesis, openChain } from "@rnode/chain";
import { l1Info } from "@rnode/eth-api/testing";
import { bytesToHex, type Hex, hexToBytes, keccak256, toQuantity, ZERO_HASH } from "@rnode/primitives";
import { type DepositTransaction, encodeBlock, encodeTransaction, PREDEPLOYS } from "@rnode/protocol";
import { openChainStore } from "@rnode/storage";
import { genesisOfSpec, loadChainSpec } from "../setup/chain-spec.ts";
import { GENESIS, GENESIS_TIME_SEC } from "./test-client.ts";

/*
 * Blocks of deposits, which need no signatures: they mint to some thousand accounts, and write and delete some thousand slots of a
 * contract that logs each of them. The seed alone determines a block.
 */

const WRITER = "0x00000000000000000000000000000000000010ab";
/** sets slot[calldata 0] to calldata 1, and emits LOG1 with the slot as its topic */
const WRITER_CODE = "0x6020356000355560003560206000a100";
const KEYS = 3000;
const DEPOSITS = 16;

export const WRITER_GENESIS = {
  ...GENESIS,
  alloc: { ...GENESIS.alloc, [WRITER]: { nonce: "0x1", balance: "0x0", code: WRITER_CODE } },
};

const seeded = (seed: number, index: number): Uint8Array => keccak256(Uint8Array.of(seed >> 16, seed >> 8, seed, index));

function keyOf(seed: number, index: number): Uint8Array {
  const bytes = seeded(seed, index);
  const number = ((bytes[0]! << 16) | (bytes[1]! << 8) | bytes[2]!) % KEYS;
  return keccak256(Uint8Array.of(number >> 8, number));
}

/** The forced transactions of a block, encoded; the L1 attributes come first. */
function forcedTransactions(seed: number): Uint8Array[] {
  const deposits = [{ ...l1Info("jovian"), sourceHash: seeded(seed, 255) }];
  for (let i = 0; i < DEPOSITS; i++) {
    const key = keyOf(seed, i);
    const isWrite = i % 2 === 0;
    const data = new Uint8Array(isWrite ? 64 : 0);
    if (isWrite) {
      data.set(key);
      if (i % 8 !== 0) data.set(seeded(seed, i + 100), 32); // otherwise the slot is deleted
    }
    const deposit: DepositTransaction = {
      type: 0x7e,
      sourceHash: seeded(seed, i),
      from: key.subarray(12),
      to: isWrite ? hexToBytes(WRITER) : keyOf(seed, i + 200).subarray(12),
      mint: BigInt(1 + i),
      value: isWrite ? 0n : 1n,
      gasLimit: 200_000n,
      isSystemTx: false,
      data,
    };
    deposits.push(deposit);
  }
  return deposits.map(encodeTransaction);
}

/** Payload attributes of a block, for engine_forkchoiceUpdatedV3. */
export function attributesJson(seed: number, parentTimestampSec: number): Readonly<Record<string, unknown>> {
  return {
    timestamp: toQuantity(parentTimestampSec + 2),
    prevRandao: bytesToHex(ZERO_HASH),
    suggestedFeeRecipient: bytesToHex(PREDEPLOYS.sequencerFeeVault),
    withdrawals: [],
    parentBeaconBlockRoot: bytesToHex(ZERO_HASH),
    transactions: forcedTransactions(seed).map(bytesToHex),
    noTxPool: true,
    gasLimit: toQuantity(30_000_000n),
    eip1559Params: "0x000000fa00000006",
    minBaseFee: 0,
  };
}

/**
 * Makes a chain of `count` blocks on top of the genesis, in a separate database in `folder`.
 *
 * @returns the RLP of the blocks, one after the other, and the hashes by number, starting with the genesis
 */
export async function generateBlocks(
  genesisPath: string,
  folder: string,
  count: number,
): Promise<{ rlp: Uint8Array; hashes: Hex[] }> {
  const spec = await loadChainSpec({ chain: genesisPath });
  const store = openChainStore(folder, { preimages: true, sync: "interval" });
  initGenesis(store, await genesisOfSpec(spec));
  const chain = openChain({ store, config: spec.config, nowMs: () => 0 });
  const encoded: Uint8Array[] = [];
  const hashes: Hex[] = [chain.head().hash];
  const choose = (head: Uint8Array) => ({ headBlockHash: head, safeBlockHash: ZERO_HASH, finalizedBlockHash: ZERO_HASH });
  for (let number = 1; number <= count; number++) {
    const attributes = {
      timestamp: GENESIS_TIME_SEC + 2 * number,
      prevRandao: ZERO_HASH,
      suggestedFeeRecipient: PREDEPLOYS.sequencerFeeVault,
      withdrawals: [],
      parentBeaconBlockRoot: ZERO_HASH,
      transactions: forcedTransactions(number),
      noTxPool: true,
      gasLimit: 30_000_000n,
      eip1559Params: hexToBytes("0x000000fa00000006"),
      minBaseFee: 0n,
    };
    const started = chain.forkchoiceUpdated(choose(hexToBytes(chain.head().hash)), attributes, 3);
    if (started.kind !== "updated" || started.payloadId === undefined) throw new Error(JSON.stringify(started));
    const { block, hash } = chain.getPayload(started.payloadId)!;
    chain.forkchoiceUpdated(choose(hash), undefined, 3);
    encoded.push(encodeBlock(block));
    hashes.push(bytesToHex(hash));
  }
  await chain.close();
  return { rlp: Buffer.concat(encoded), hashes };
}
