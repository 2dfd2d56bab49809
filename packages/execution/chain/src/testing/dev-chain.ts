import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { MetricFactory } from "@rnode/observe";
import { bytesToHex, hexToBytes, privateKeyToAddress, uint64ToBytes, ZERO_HASH } from "@rnode/primitives";
import {
  type ChainConfig,
  type DepositTransaction,
  encodeTransaction,
  type FeeMarketTransaction,
  type Genesis,
  hashTransaction,
  hasMinBaseFee,
  L1_ATTRIBUTES_DEPOSITOR,
  type OpFork,
  type PayloadAttributes,
  PREDEPLOYS,
  parseGenesis,
  rollupRules,
  signTransaction,
} from "@rnode/protocol";
import { type ChainDatabase, openChainStore } from "@rnode/storage";
import type { BuiltPayload, Chain, PendingSource, PendingTransaction } from "../api.ts";
import { type ChainDependencies, type ChainOptions, openChain } from "../chain.ts";
import type { ChainParts } from "../chain-parts.ts";
import { initGenesis, sealGenesis } from "../genesis/genesis.ts";
import { GenesisState } from "../genesis/genesis-state.ts";
import { PreparedBlock } from "../prepared-block.ts";

/*
 * A small OP Stack chain for tests: funded accounts, an L1Block predeploy without code (tests set its slots), a message passer
 * with one slot.
 */

export const BLOCK_TIME_SEC = 2;
export const GENESIS_TIME_SEC = 1000;
export const KEYS = [0x11, 0x22, 0x33].map((byte) => new Uint8Array(32).fill(byte));
export const ACCOUNTS = KEYS.map(privateKeyToAddress);
export const CHAIN_ID = 901n;

const word = (hex: string): string => `0x${hex.padStart(64, "0")}`;

/** Emits a log with its calldata and stores it in slot 0: CALLDATALOAD(0) DUP1 SSTORE(0) MSTORE(0) LOG0(0,32). */
export const LOGGER = hexToBytes("0x00000000000000000000000000000000000010aa");
const LOGGER_CODE = "0x6000358060005560005260206000a000";

export function devConfig(fork: OpFork): ChainConfig {
  return {
    chainId: CHAIN_ID,
    forkBlocks: {},
    evmForkTimes: {},
    terminalTotalDifficulty: 0n,
    blobSchedule: [],
    optimism: {
      eip1559Elasticity: 6,
      eip1559Denominator: 50,
      eip1559DenominatorCanyon: 250,
      forkTimes: { [fork]: 0 },
      bedrockBlock: 0,
    },
  };
}

/** @param slot8 of L1Block: operator fee and DA footprint parameters */
export function devGenesis(fork: OpFork, slot8 = "0"): Genesis {
  const { extraDataVersion } = rollupRules(fork);
  const extraData = { 0: "0x00000000fa00000006", 1: "0x01000000fa000000060000000000000000" } as const;
  return parseGenesis({
    config: null,
    timestamp: GENESIS_TIME_SEC,
    gasLimit: "0x1c9c380",
    extraData: extraDataVersion === undefined ? "0x" : extraData[extraDataVersion],
    coinbase: bytesToHex(PREDEPLOYS.sequencerFeeVault),
    baseFeePerGas: "0x3b9aca00",
    alloc: {
      ...Object.fromEntries(ACCOUNTS.map((address) => [bytesToHex(address), { balance: "0x3635c9adc5dea00000" }])),
      [bytesToHex(PREDEPLOYS.l1Block)]: { balance: "0x0", nonce: "0x1", storage: { [word("8")]: word(slot8) } },
      [bytesToHex(PREDEPLOYS.l2ToL1MessagePasser)]: { nonce: "0x1", storage: { [word("1")]: word("1") } },
      [bytesToHex(LOGGER)]: { nonce: "0x1", code: LOGGER_CODE },
    },
  });
}

export interface DevChain {
  readonly chain: Chain & ChainParts;
  readonly store: ChainDatabase;
  readonly folder: string;
  readonly fork: OpFork;
  /** closes the chain and removes the folder */
  remove(): Promise<void>;
}

export function openDevChain(
  fork: OpFork = "jovian",
  given: {
    folder?: string;
    options?: ChainOptions;
    genesis?: Genesis;
    config?: ChainConfig;
    metrics?: MetricFactory;
    nowMs?: () => number;
    liveRoots?: (store: ChainDatabase) => ChainDependencies["liveRoots"];
    startGroupRoots?: ChainDependencies["startGroupRoots"];
  } = {},
): DevChain {
  const folder = given.folder ?? mkdtempSync(join(tmpdir(), "rnode-chain-"));
  const store = openChainStore(folder, { sync: "interval" });
  const config = given.config ?? devConfig(fork);
  const { header, alloc } = given.genesis ?? devGenesis(fork);
  initGenesis(store, sealGenesis(header, config, GenesisState.of(alloc)));
  const { metrics, startGroupRoots } = given;
  const liveRoots = given.liveRoots?.(store);
  const dependencies = { store, config, nowMs: given.nowMs ?? (() => 0), ...(metrics && { metrics }), liveRoots, startGroupRoots };
  const chain = openChain(dependencies, given.options);
  const remove = async (): Promise<void> => {
    await chain.close();
    rmSync(folder, { recursive: true, force: true });
  };
  return { chain, store, folder, fork, remove };
}

/** The block's first deposit. */
export function attributesDeposit(seed: number): DepositTransaction {
  return {
    type: 0x7e,
    sourceHash: new Uint8Array(32).fill(seed & 0xff),
    from: L1_ATTRIBUTES_DEPOSITOR,
    to: PREDEPLOYS.l1Block,
    mint: 0n,
    value: 0n,
    gasLimit: 1_000_000n,
    isSystemTx: false,
    data: uint64ToBytes(seed),
  };
}

/** Attributes of a child of the head; `seed` makes sibling blocks differ. */
export function attributesFor(dev: DevChain, seed = 1, changes: Partial<PayloadAttributes> = {}): PayloadAttributes {
  const parent = dev.chain.headerOf({ kind: "tag", tag: "latest" })!.header;
  const { hasWithdrawals, hasBeaconRoot, extraDataVersion } = rollupRules(dev.fork);
  return {
    timestamp: parent.timestamp + BLOCK_TIME_SEC,
    prevRandao: new Uint8Array(32).fill(seed & 0xff),
    suggestedFeeRecipient: PREDEPLOYS.sequencerFeeVault,
    ...(hasWithdrawals && { withdrawals: [] }),
    ...(hasBeaconRoot && { parentBeaconBlockRoot: new Uint8Array(32).fill(seed & 0xff) }),
    transactions: [encodeTransaction(attributesDeposit(seed))],
    noTxPool: true,
    gasLimit: 30_000_000n,
    ...(extraDataVersion !== undefined && { eip1559Params: hexToBytes("0x0000000000000000") }),
    ...(hasMinBaseFee(extraDataVersion) && { minBaseFee: 0n }),
    ...changes,
  };
}

export const forkchoice = (head: Uint8Array, safe: Uint8Array = ZERO_HASH, finalized: Uint8Array = ZERO_HASH) => ({
  headBlockHash: head,
  safeBlockHash: safe,
  finalizedBlockHash: finalized,
});

/** Builds a block on the head and makes it the head. */
export function produce(dev: DevChain, seed = 1, changes: Partial<PayloadAttributes> = {}): BuiltPayload {
  const payload = build(dev, seed, changes);
  const status = dev.chain.newPayload(new PreparedBlock(payload.block));
  if (status.status !== "VALID") throw new Error(`own payload: ${JSON.stringify(status)}`);
  const result = dev.chain.forkchoiceUpdated(forkchoice(payload.hash), undefined, 3);
  if (result.kind !== "updated" || result.status.status !== "VALID") throw new Error(`fork choice: ${result.kind}`);
  return payload;
}

/** Makes an ancestor the head again. */
export function rewind({ chain }: DevChain, number: number): void {
  const { hash } = chain.headerOf({ kind: "number", number })!;
  const result = chain.forkchoiceUpdated(forkchoice(hash), undefined, 3);
  if (result.kind !== "updated" || chain.head().number !== number)
    throw new Error(`rewind to ${number}: ${JSON.stringify(result)}`);
}

/** Builds a block on the head without making it the head. */
export function build(dev: DevChain, seed = 1, changes: Partial<PayloadAttributes> = {}): BuiltPayload {
  const head = hexToBytes(dev.chain.head().hash);
  const result = dev.chain.forkchoiceUpdated(forkchoice(head), attributesFor(dev, seed, changes), 3);
  if (result.kind !== "updated" || result.payloadId === undefined) {
    throw new Error(`no payload: ${JSON.stringify(result)}`);
  }
  return dev.chain.getPayload(result.payloadId)!;
}

/** A signed transaction of account `from`. */
export function transaction(from: number, nonce: number, fields: Partial<FeeMarketTransaction> = {}): FeeMarketTransaction {
  const unsigned: FeeMarketTransaction = {
    type: 0x02,
    chainId: CHAIN_ID,
    nonce: BigInt(nonce),
    maxPriorityFeePerGas: 1_000_000n,
    maxFeePerGas: 10_000_000_000n,
    gasLimit: 100_000n,
    to: ACCOUNTS[(from + 1) % ACCOUNTS.length],
    value: 1n,
    data: new Uint8Array(0),
    accessList: [],
    ...fields,
  };
  return signTransaction(unsigned, KEYS[from]!);
}

/** A pool that offers the transactions it is given in their order. */
export function fixedPool(transactions: () => readonly { from: number; tx: FeeMarketTransaction }[]): PendingSource {
  return {
    best() {
      const pending: PendingTransaction[] = transactions().map(({ from, tx }) => ({
        transaction: tx,
        sender: ACCOUNTS[from]!,
        encoded: encodeTransaction(tx),
        hash: hashTransaction(tx),
      }));
      let at = -1;
      return {
        next: () => pending[++at],
        skipSender() {
          const skipped = pending[at]?.sender;
          while (pending[at + 1] !== undefined && pending[at + 1]!.sender === skipped) at++;
        },
      };
    },
  };
}
