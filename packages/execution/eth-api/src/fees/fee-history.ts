import type { BlockSelector, StoredBlock } from "@rnode/chain";
import { rpcErrorOf } from "@rnode/jsonrpc";
import { toQuantity } from "@rnode/primitives";
import {
  type BlockRules,
  blobBaseFee,
  FIRST_BLOB_PARAMS,
  GAS_PER_BLOB,
  type Header,
  nextBaseFee,
  nextExcessBlobGas,
} from "@rnode/protocol";
import { type ReadBackend, requireHeader, rulesAt } from "../backend/backend.ts";
import { sealed } from "../backend/pending-view.ts";
import type { Work } from "../backend/work.ts";
import type { JsonObject } from "../json/transaction-json.ts";
import { tipOf } from "./gas-price.ts";

const MAX_BLOCKS = 1024;
const MAX_PERCENTILES = 100;

/** `eth_feeHistory`. Spec: docs/protocol/04-rpc.md#blocks-logs-sync-fees. @throws {RpcError}, and what `work` throws */
export function feeHistory(
  backend: ReadBackend,
  work: Work,
  blockCount: number,
  newest: BlockSelector,
  asked: readonly number[] | undefined,
): JsonObject {
  const { chain, profile } = backend;
  const percentiles = asked ?? [];
  checkPercentiles(backend, percentiles);
  const head = chain.head().number;
  if (newest.kind === "number" && newest.number > head) {
    throw rpcErrorOf(profile.errors.feeHistory({ kind: "beyond-head", requested: newest.number, head }));
  }
  const last = requireHeader(backend, sealed(newest)).header.number;
  const count = Math.min(blockCount, MAX_BLOCKS, last + 1);
  if (count < 1) return { oldestBlock: "0x0", gasUsedRatio: profile.feeHistory.hasEmptyLists ? [] : null };
  const oldest = last - count + 1;
  const baseFees: bigint[] = [];
  const blobFees: bigint[] = [];
  const gasUsedRatio: number[] = [];
  const blobGasUsedRatio: number[] = [];
  const reward: string[][] = [];
  let newestHeader: Header | undefined;
  for (let number = oldest; number <= last; number++) {
    work.check();
    const selector: BlockSelector = { kind: "number", number };
    const stored = percentiles.length > 0 ? chain.resolve(selector) : undefined;
    const header = stored?.block.header ?? requireHeader(backend, selector).header;
    const rules = rulesAt(backend, header);
    baseFees.push(header.baseFeePerGas ?? 0n);
    blobFees.push(blobFeeOf(rules, header.excessBlobGas));
    gasUsedRatio.push(header.gasLimit === 0n ? 0 : Number(header.gasUsed) / Number(header.gasLimit));
    const countsBlobGas = rules.op === undefined || profile.feeHistory.countsFootprint;
    blobGasUsedRatio.push(countsBlobGas ? Number(header.blobGasUsed ?? 0n) / Number(maxBlobGas(rules)) : 0);
    if (stored !== undefined) reward.push(rewardsOf(stored, percentiles));
    newestHeader = header;
  }
  if (newestHeader !== undefined) {
    const childTime = newestHeader.timestamp + 1;
    baseFees.push(newestHeader.baseFeePerGas === undefined ? 0n : nextBaseFee(chain.config, newestHeader, childTime));
    const rules = rulesAt(backend, newestHeader);
    const isBlobEra = newestHeader.excessBlobGas !== undefined;
    const nextExcess =
      rules.op !== undefined ? 0n : isBlobEra ? nextExcessBlobGas(chain.config, newestHeader, childTime) : undefined;
    blobFees.push(isBlobEra ? blobFeeOf(rules, nextExcess) : 0n);
  }
  return {
    oldestBlock: toQuantity(oldest),
    ...((percentiles.length > 0 || (asked !== undefined && profile.feeHistory.hasEmptyLists)) && { reward }),
    baseFeePerGas: baseFees.map(toQuantity),
    gasUsedRatio,
    baseFeePerBlobGas: blobFees.map(toQuantity),
    blobGasUsedRatio,
  };
}

function checkPercentiles({ profile }: ReadBackend, percentiles: readonly number[]): void {
  const refuse = (detail: string): never => {
    throw rpcErrorOf(profile.errors.feeHistory({ kind: "bad-percentiles", detail }));
  };
  if (percentiles.length > MAX_PERCENTILES) refuse(`over the query limit ${MAX_PERCENTILES}`);
  percentiles.forEach((percentile, index) => {
    if (!(percentile >= 0 && percentile <= 100)) refuse(String(percentile));
    const before = percentiles[index - 1];
    if (before !== undefined && percentile <= before) refuse(`#${index - 1}:${before} >= #${index}:${percentile}`);
  });
}

function blobFeeOf(rules: BlockRules, excessBlobGas: bigint | undefined): bigint {
  if (excessBlobGas === undefined) return 0n;
  return rules.blobParams === undefined ? 1n : blobBaseFee(excessBlobGas, rules.blobParams.baseFeeUpdateFraction);
}

/** The fork's Ethereum maximum for blob gas, on OP Stack chains too. */
function maxBlobGas(rules: BlockRules): bigint {
  return BigInt((rules.blobParams ?? rules.defaultBlobParams ?? FIRST_BLOB_PARAMS).max) * GAS_PER_BLOB;
}

/** The tips at the given percentiles of gas used, with the cheapest transactions first. */
function rewardsOf({ block, receipts }: StoredBlock, percentiles: readonly number[]): string[] {
  const { header, transactions } = block;
  if (transactions.length === 0) return percentiles.map(() => "0x0");
  const paid = transactions.map((tx, index) => ({
    tip: tipOf(tx, header.baseFeePerGas ?? 0n),
    gasUsed: receipts[index]!.cumulativeGasUsed - (index === 0 ? 0n : receipts[index - 1]!.cumulativeGasUsed),
  }));
  paid.sort((a, b) => (a.tip < b.tip ? -1 : a.tip > b.tip ? 1 : 0));
  let at = 0;
  let sum = paid[0]!.gasUsed;
  return percentiles.map((percentile) => {
    const threshold = BigInt(Math.floor((Number(header.gasUsed) * percentile) / 100));
    while (sum < threshold && at < paid.length - 1) {
      at++;
      sum += paid[at]!.gasUsed;
    }
    return toQuantity(paid[at]!.tip);
  });
}
