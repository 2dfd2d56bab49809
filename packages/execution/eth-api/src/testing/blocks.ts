import type { StoredBlock } from "@rnode/chain";
import { privateKeyToAddress, ZERO_ADDRESS, ZERO_HASH } from "@rnode/primitives";
import {
  type DepositTransaction,
  encodeL1BlockInfo,
  type FeeMarketTransaction,
  type Header,
  hashHeader,
  isSigned,
  L1_ATTRIBUTES_DEPOSITOR,
  type L1BlockInfo,
  type L1InfoLayout,
  type Log,
  logsBloom,
  PREDEPLOYS,
  type Receipt,
  signTransaction,
  type Transaction,
} from "@rnode/protocol";
import { headerOf } from "@rnode/protocol/testing";

/** The configuration of a genesis with all forks active. */
export const JOVIAN_CONFIG = {
  chainId: 901,
  bedrockBlock: 0,
  regolithTime: 0,
  canyonTime: 0,
  ecotoneTime: 0,
  fjordTime: 0,
  graniteTime: 0,
  holoceneTime: 0,
  isthmusTime: 0,
  jovianTime: 0,
  optimism: { eip1559Elasticity: 6, eip1559Denominator: 50, eip1559DenominatorCanyon: 250 },
};

export const KEY = new Uint8Array(32).fill(0x11);
export const SENDER = privateKeyToAddress(KEY);
export const RECIPIENT = new Uint8Array(20).fill(0x22);
export const GWEI = 1_000_000_000n;

export const header = (overrides: Partial<Header> = {}): Header =>
  headerOf({
    beneficiary: PREDEPLOYS.sequencerFeeVault,
    number: 7,
    gasUsed: 21_000n,
    timestamp: 1_700_000_000,
    baseFeePerGas: GWEI,
    ...overrides,
  });

export const feeTransaction = (overrides: Partial<FeeMarketTransaction> = {}): FeeMarketTransaction =>
  signTransaction(
    {
      type: 0x02,
      chainId: 901n,
      nonce: 3n,
      gasLimit: 50_000n,
      to: RECIPIENT,
      value: 5n,
      data: Uint8Array.of(1, 2, 3),
      maxPriorityFeePerGas: 10n,
      maxFeePerGas: 2n * GWEI,
      accessList: [],
      ...overrides,
    },
    KEY,
  );

export const deposit = (overrides: Partial<DepositTransaction> = {}): DepositTransaction => ({
  type: 0x7e,
  sourceHash: new Uint8Array(32).fill(0x33),
  from: L1_ATTRIBUTES_DEPOSITOR,
  to: PREDEPLOYS.l1Block,
  mint: 0n,
  value: 0n,
  gasLimit: 1_000_000n,
  isSystemTx: false,
  data: new Uint8Array(0),
  ...overrides,
});

export const l1Info = (layout: L1InfoLayout, overrides: Partial<L1BlockInfo> = {}): DepositTransaction =>
  deposit({
    data: encodeL1BlockInfo({
      layout,
      number: 100,
      timestamp: 1_699_999_990,
      baseFee: 7n * GWEI,
      blockHash: new Uint8Array(32).fill(0x44),
      sequenceNumber: 0,
      batcherHash: ZERO_HASH,
      overhead: layout === "bedrock" ? word(188n) : ZERO_HASH,
      scalar: layout === "bedrock" ? word(684_000n) : ZERO_HASH,
      blobBaseFee: 3n,
      baseFeeScalar: 1368,
      blobBaseFeeScalar: 810_949,
      operatorFeeScalar: 0,
      operatorFeeConstant: 0n,
      daFootprintGasScalar: 400,
      ...overrides,
    }),
  });

function word(value: bigint): Uint8Array {
  const bytes = new Uint8Array(32);
  new DataView(bytes.buffer).setBigUint64(24, value);
  return bytes;
}

export const log = (topics: number[], address: Uint8Array = RECIPIENT): Log => ({
  address,
  topics: topics.map((topic) => new Uint8Array(32).fill(topic)),
  data: Uint8Array.of(9),
});

/** A block of these transactions, each of which uses `gas` and emits `logs`. */
export function storedBlock(
  transactions: readonly Transaction[],
  { gas = 21_000n, logs = [], ...fields }: Partial<Header> & { gas?: bigint; logs?: readonly (readonly Log[])[] } = {},
): StoredBlock {
  let cumulativeGasUsed = 0n;
  const receipts = transactions.map((tx, index): Receipt => {
    cumulativeGasUsed += gas;
    const own = logs[index] ?? [];
    return {
      type: tx.type,
      status: 1,
      cumulativeGasUsed,
      bloom: logsBloom(own),
      logs: own,
      ...(tx.type === 0x7e && { depositNonce: 41n, depositReceiptVersion: 1n }),
    };
  });
  const own = header({ gasUsed: cumulativeGasUsed, logsBloom: logsBloom(logs.flat()), ...fields });
  return {
    hash: hashHeader(own),
    block: { header: own, transactions, ommers: [], withdrawals: [] },
    receipts,
    senders: transactions.map((tx) =>
      isSigned(tx) && tx.signature !== undefined ? SENDER : tx.type === 0x7e ? tx.from : ZERO_ADDRESS,
    ),
  };
}
