import { rulesOfBlock } from "@rnode/chain";
import { bigintToBytes, bytesToBigint, EMPTY_KECCAK, equalBytes } from "@rnode/primitives";
import {
  blockRules,
  type ChainConfig,
  floorDataGas,
  type Header,
  intrinsicGas,
  l1Cost,
  l1FeeParamsFromL1BlockStorage,
  nextBaseFee,
  operatorFee,
  PREDEPLOYS,
} from "@rnode/protocol";
import type { StateView } from "@rnode/storage";
import type { PoolHead } from "@rnode/txpool";

/** Gas of the L1 attributes deposit, which every block contains. Spec: docs/protocol/01-execution.md#transaction-pool */
const L1_INFO_GAS_OVERHEAD = 70_000n;
/** The same where a block may end with one more deposit, as one that replaces another does. Spec: https://specs.optimism.io/interop/tx-pool.html */
const SYSTEM_DEPOSITS_GAS = 100_000n;
/** EIP-7702: `0xef0100 ‖ address` */
const DELEGATION_BYTES = 23;

/** The context in which the pool checks transactions: the state after `header`, and the rules of the next block. */
export function poolHeadOf(config: ChainConfig, header: Header, state: StateView): PoolHead {
  const childTime = header.timestamp + 1;
  const isPostMerge = rulesOfBlock(config, header).isPostMerge;
  const rules = blockRules(config, { number: header.number + 1, timestamp: childTime, isPostMerge });
  const isOptimism = rules.op !== undefined;
  const depositsGas = rules.hasExecutingMessages ? SYSTEM_DEPOSITS_GAS : L1_INFO_GAS_OVERHEAD;
  const l1Params = isOptimism
    ? l1FeeParamsFromL1BlockStorage((slot) => {
        const word = state.readStorage(PREDEPLOYS.l1Block, bigintToBytes(BigInt(slot), 32));
        return word === undefined ? 0n : bytesToBigint(word);
      })
    : undefined;
  return {
    chainId: config.chainId,
    baseFeeWei: header.baseFeePerGas === undefined ? 0n : nextBaseFee(config, header, childTime),
    gasLimit: isOptimism && header.gasLimit > depositsGas ? header.gasLimit - depositsGas : header.gasLimit,
    transactionGasCap: rules.maxTransactionGas,
    acceptsBlobs: rules.acceptsBlobs,
    acceptsSetCode: rules.acceptsSetCode,
    ...(rules.blobParams !== undefined && {
      maxBlobsPerTransaction: Math.min(rules.maxBlobsPerTransaction, rules.blobParams.max),
    }),
    maxInitcodeBytes: rules.maxInitcodeBytes,
    readAccount: (address) => {
      const account = state.readAccount(address);
      if (account === undefined) return { nonce: 0n, balance: 0n, isContract: false, isDelegated: false };
      const { nonce, balance, codeHash } = account;
      const hasCode = !equalBytes(codeHash, EMPTY_KECCAK);
      const isDelegated = hasCode && isDelegation(state.readCode(codeHash));
      return { nonce, balance, isContract: hasCode && !isDelegated && rules.acceptsContractSenders !== true, isDelegated };
    },
    intrinsicGas: (transaction) => intrinsicGas(rules, transaction),
    floorDataGas: (transaction) => floorDataGas(rules, transaction.data),
    rollupFee: (transaction, encoded) =>
      l1Params === undefined ? 0n : l1Cost(rules, l1Params, encoded) + operatorFee(rules, l1Params, transaction.gasLimit),
  };
}

const isDelegation = (code: Uint8Array): boolean =>
  code.length === DELEGATION_BYTES && code[0] === 0xef && code[1] === 0x01 && code[2] === 0x00;
