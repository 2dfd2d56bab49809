import { receiptsRoot } from "@rnode/chain/stateless";
import { bytesToHex, equalBytes, type Hex } from "@rnode/primitives";
import {
  type DepositTransaction,
  depositsFromReceipts,
  encodeTransaction,
  forksBeginningAt,
  type Header,
  hashHeader,
  headerFromRpc,
  type L1BlockInfo,
  type RollupConfig,
  receiptFromRpc,
} from "@rnode/protocol";
import type { BlockOutcome } from "./check-block.ts";
import { l1InfoOf } from "./l1-info.ts";
import { type OnStep, plural, shortened } from "./steps.ts";

/** An L1 block that matches its hash, with its deposits. */
export interface OriginOutcome {
  readonly header: Header;
  readonly hash: Hex;
  readonly deposits: readonly DepositTransaction[];
}

/**
 * Checks an L1 block and its receipts against its hash, and derives its deposits.
 *
 * @param json `{block, receipts}`, as returned by `eth_getBlockByHash` and `eth_getBlockReceipts`
 * @returns undefined: they do not match; a step states the reason
 * @throws {CodedError} rpc-json/*: they cannot be parsed
 */
export function checkOrigin(json: unknown, config: RollupConfig, onStep: OnStep): OriginOutcome | undefined {
  const { block, receipts: listed } = (json ?? {}) as { readonly block?: unknown; readonly receipts?: unknown };
  if (!Array.isArray(listed)) throw new Error("the L1 origin is {block, receipts}, of which the receipts are a list");
  const header = headerFromRpc(block);
  const hash = bytesToHex(hashHeader(header));
  const stated = String((block as { readonly hash?: unknown }).hash).toLowerCase();
  const receipts = listed.map((receipt) => receiptFromRpc(receipt).receipt);
  const root = receiptsRoot({ receipts });
  const faults = [
    ...(stated === hash ? [] : [`it calls itself ${stated}, and hashes to ${hash}`]),
    ...(equalBytes(root, header.receiptsRoot)
      ? []
      : [`the receipts have the root ${bytesToHex(root)}, the block commits to ${bytesToHex(header.receiptsRoot)}`]),
  ];
  const isWhole = faults.length === 0;
  onStep({
    stage: "decode",
    title: isWhole ? "The L1 block and its receipts fit its hash" : "The L1 block is not what it says",
    state: isWhole ? "good" : "bad",
    facts: isWhole ? [`L1 block ${header.number} ${hash}`, plural(receipts.length, "receipt")] : faults,
  });
  if (!isWhole) return undefined;
  const { deposits, skipped } = depositsFromReceipts(receipts, config.depositContractAddress, hashHeader(header));
  const ignored = skipped.map(({ logIndex, reason }) => `log ${logIndex} is no deposit: ${reason}`);
  onStep({
    stage: "derive",
    title: plural(deposits.length, "deposit"),
    state: "good",
    facts: [...shortened(deposits.map(describeDeposit)), ...shortened(ignored)],
  });
  return { header, hash, deposits };
}

function describeDeposit({ from, to, mint, value, gasLimit, sourceHash }: DepositTransaction): string {
  const target = to === undefined ? "a new contract" : bytesToHex(to);
  return `${bytesToHex(from)} to ${target}: mint ${mint} wei, value ${value} wei, gas ${gasLimit}, source ${bytesToHex(sourceHash)}`;
}

/**
 * Compares the deposits of the block that was executed with those of its L1 origin: the first block of an origin has them all, the others have none.
 * Spec: docs/protocol/02-derivation.md#user-deposits
 */
export function compareDeposits(block: BlockOutcome, origin: OriginOutcome, config: RollupConfig, onStep: OnStep): void {
  const info = l1InfoOf(block.transactions);
  const { isGood, title, facts } =
    info === undefined ? NO_ORIGIN : (otherOrigin(info, origin) ?? judgeDeposits(block, info.sequenceNumber, origin, config));
  onStep({ stage: "derive", title, state: isGood ? "good" : "bad", facts });
}

interface Verdict {
  readonly isGood: boolean;
  readonly title: string;
  readonly facts: readonly string[];
}

const NO_ORIGIN: Verdict = {
  isGood: false,
  title: "The block names no L1 origin",
  facts: ["its first transaction is not that of the L1 attributes"],
};

/** @returns undefined: the block has this origin */
function otherOrigin({ number, blockHash, timestamp, baseFee }: L1BlockInfo, { header, hash }: OriginOutcome): Verdict | undefined {
  const facts = [
    ...(bytesToHex(blockHash) === hash ? [] : [`it names L1 block ${number} ${bytesToHex(blockHash)}`]),
    ...(timestamp === header.timestamp ? [] : [`it says that the L1 block is of time ${timestamp}`]),
    ...(baseFee === (header.baseFeePerGas ?? 0n) ? [] : [`it says that L1's base fee is ${baseFee}`]),
  ];
  return facts.length === 0
    ? undefined
    : { isGood: false, title: "The block has another L1 origin than the one that was given", facts };
}

function judgeDeposits(
  { header, transactions }: BlockOutcome,
  sequenceNumber: number,
  origin: OriginOutcome,
  { forkTimes, blockTimeSec }: RollupConfig,
): Verdict {
  const own = transactions.filter(({ type }) => type === 0x7e).slice(1);
  const wanted = sequenceNumber === 0 ? origin.deposits : [];
  const isSame = wanted.every((deposit, index) => {
    const found = own[index];
    return found !== undefined && equalBytes(encodeTransaction(found), encodeTransaction(deposit));
  });
  const more = own.length - wanted.length;
  // Upgrades of the chain come after the deposits of users.
  const forks = forksBeginningAt(forkTimes, header.timestamp, header.timestamp - blockTimeSec);
  const isGood = isSame && (more <= 0 || forks.length > 0);
  const number = origin.header.number;
  return {
    isGood,
    title: isGood ? "The block has the deposits of its L1 origin" : "The block has other deposits than its L1 origin",
    facts: [
      sequenceNumber === 0
        ? `the first block of L1 origin ${number}, with ${plural(wanted.length, "deposit")}`
        : `block ${sequenceNumber + 1} of L1 origin ${number}: only the first one has deposits`,
      ...(isSame ? [] : ["one of them is missing, or differs"]),
      ...(more <= 0
        ? []
        : [forks.length > 0 ? `${more} more, of the upgrade to ${forks.join(", ")}: not compared` : `${more} more than L1 says`]),
    ],
  };
}
