import { contract, loadContracts } from "@rnode/devnet";
import { bytesToHex, type Hex, toQuantity } from "@rnode/primitives";
import {
  encodeL1BlockInfo,
  encodeTransaction,
  forksUpTo,
  genesisForkTimesToJson,
  L1_ATTRIBUTES_DEPOSITOR,
  type OpFork,
  PREDEPLOYS,
} from "@rnode/protocol";

/** An OP Stack chain created for a benchmark. */
export interface OpChain {
  readonly chainId: number;
  readonly gasLimit: bigint;
  /** of the genesis */
  readonly timestampSec: number;
  readonly rich: readonly Hex[];
  /** default: Jovian */
  readonly fork?: OpFork | undefined;
  readonly contracts?: readonly { readonly address: Uint8Array; readonly code: Uint8Array }[];
}

export const RICH_WEI = 10n ** 24n;
const ZERO_HASH_HEX: Hex = `0x${"00".repeat(32)}`;
const BLOCK_TIME_SEC = 2;

/** The genesis file of the chain, with the contract that receives the L1 attributes. */
export function opGenesis({ chainId, gasLimit, timestampSec, rich, fork = "jovian", contracts = [] }: OpChain): object {
  const { runtimeCode } = contract(loadContracts(), "L1Block");
  return {
    config: {
      chainId,
      bedrockBlock: 0,
      ...genesisForkTimesToJson(forksUpTo(fork)),
      optimism: { eip1559Elasticity: 6, eip1559Denominator: 50, eip1559DenominatorCanyon: 250 },
    },
    timestamp: toQuantity(timestampSec),
    gasLimit: toQuantity(gasLimit),
    baseFeePerGas: "0x3b9aca00",
    extraData: "0x01000000fa000000060000000000000000",
    alloc: {
      ...Object.fromEntries(rich.map((address) => [address, { balance: toQuantity(RICH_WEI) }])),
      ...Object.fromEntries(
        contracts.map(({ address, code }) => [bytesToHex(address), { nonce: "0x1", balance: "0x1", code: bytesToHex(code) }]),
      ),
      [bytesToHex(PREDEPLOYS.l2ToL1MessagePasser)]: { nonce: "0x1", balance: "0x0" },
      [bytesToHex(PREDEPLOYS.l1Block)]: { nonce: "0x1", balance: "0x0", code: runtimeCode },
    },
  };
}

/** The attributes with which the rollup node requests a block: the L1 attributes deposit, then transactions from the pool. */
export function sequencerAttributes(parent: { readonly number: number; readonly timestampSec: number }, gasLimit: bigint): object {
  const deposit = encodeTransaction({
    type: 0x7e,
    sourceHash: new Uint8Array(32).fill(parent.number + 1),
    from: L1_ATTRIBUTES_DEPOSITOR,
    to: PREDEPLOYS.l1Block,
    mint: 0n,
    value: 0n,
    gasLimit: 1_000_000n,
    isSystemTx: false,
    data: l1Info(parent.number + 1),
  });
  return {
    timestamp: toQuantity(parent.timestampSec + BLOCK_TIME_SEC),
    prevRandao: ZERO_HASH_HEX,
    suggestedFeeRecipient: bytesToHex(PREDEPLOYS.sequencerFeeVault),
    withdrawals: [],
    parentBeaconBlockRoot: ZERO_HASH_HEX,
    transactions: [bytesToHex(deposit)],
    noTxPool: false,
    gasLimit: toQuantity(gasLimit),
    eip1559Params: "0x000000fa00000006",
    minBaseFee: 0,
  };
}

/** The parameters of `engine_newPayloadV4` for a payload of `sequencerAttributes`. */
export const newPayloadParams = (executionPayload: object): readonly unknown[] => [executionPayload, [], ZERO_HASH_HEX, []];

export const forkchoiceState = (headBlockHash: Hex): object => ({
  headBlockHash,
  safeBlockHash: ZERO_HASH_HEX,
  finalizedBlockHash: ZERO_HASH_HEX,
});

const l1Info = (sequenceNumber: number): Uint8Array =>
  encodeL1BlockInfo({
    layout: "jovian",
    number: 100,
    timestamp: 1_699_999_990,
    baseFee: 7_000_000_000n,
    blockHash: new Uint8Array(32).fill(0x44),
    sequenceNumber,
    batcherHash: new Uint8Array(32),
    overhead: new Uint8Array(32),
    scalar: new Uint8Array(32),
    blobBaseFee: 3n,
    baseFeeScalar: 1368,
    blobBaseFeeScalar: 810_949,
    operatorFeeScalar: 0,
    operatorFeeConstant: 0n,
    daFootprintGasScalar: 1,
  });
