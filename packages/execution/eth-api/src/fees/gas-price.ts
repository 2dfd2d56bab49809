import type { StoredBlock } from "@rnode/chain";
import { type Block, isSigned, type Transaction } from "@rnode/protocol";
import { effectiveTip } from "@rnode/txpool";
import type { ReadBackend } from "../backend/backend.ts";
import { LATEST } from "../params/block-selector.ts";

export interface GasPriceOptions {
  /** OP Stack: the suggestion while blocks have room, wei */
  readonly minSuggestedTipWei: bigint;
  /** the highest price to suggest, wei */
  readonly maxPriceWei: bigint;
}

const DEFAULT_GAS_PRICE_OPTIONS: GasPriceOptions = { minSuggestedTipWei: 1_000_000n, maxPriceWei: 500_000_000_000n };

/** Tip per unit of gas in a block; unsigned transactions pay none. */
export const tipOf = (tx: Transaction, baseFeeWei: bigint): bigint => (isSigned(tx) ? effectiveTip(tx, baseFeeWei) : 0n);

const ascending = (a: bigint, b: bigint): number => (a < b ? -1 : a > b ? 1 : 0);

const SAMPLED_BLOCKS = 20;
const SAMPLES_PER_BLOCK = 3;
const SAMPLE_PERCENTILE = 60;

/** Suggests tips. The answer is cached per head. */
export class GasPriceOracle {
  readonly #backend: ReadBackend;
  readonly #options: GasPriceOptions;
  #cached: { readonly headHash: string; readonly tipWei: bigint } | undefined;

  constructor(backend: ReadBackend, options: GasPriceOptions = DEFAULT_GAS_PRICE_OPTIONS) {
    this.#backend = backend;
    this.#options = options;
  }

  suggestedTipWei(): bigint {
    const { chain } = this.#backend;
    const headHash = chain.head().hash;
    if (this.#cached?.headHash === headHash) return this.#cached.tipWei;
    const head = chain.resolve(LATEST);
    const wanted =
      head === undefined ? 0n : chain.config.optimism === undefined ? this.#ethereumTip(head) : this.#optimismTip(head);
    const tipWei = wanted > this.#options.maxPriceWei ? this.#options.maxPriceWei : wanted;
    this.#cached = { headHash, tipWei };
    return tipWei;
  }

  /** `eth_gasPrice`: the base fee of the head plus the suggested tip. */
  gasPriceWei(): bigint {
    return (this.#backend.chain.headerOf(LATEST)?.header.baseFeePerGas ?? 0n) + this.suggestedTipWei();
  }

  /**
   * The minimum while the head has room for another transaction as large as its largest; otherwise 110 % of the block's median tip.
   * Spec: docs/protocol/04-rpc.md#blocks-logs-sync-fees
   */
  #optimismTip({ block, receipts }: StoredBlock): bigint {
    const { minSuggestedTipWei } = this.#options;
    const { header, transactions } = block;
    let largest = 0n;
    let before = 0n;
    for (const { cumulativeGasUsed } of receipts) {
      if (cumulativeGasUsed - before > largest) largest = cumulativeGasUsed - before;
      before = cumulativeGasUsed;
    }
    if (header.gasUsed + largest <= header.gasLimit || transactions.length === 0) return minSuggestedTipWei;
    const tips = transactions.map((tx) => tipOf(tx, header.baseFeePerGas ?? 0n)).sort(ascending);
    const median = tips[Math.floor(tips.length / 2)]!;
    const raised = median + median / 10n;
    return raised > minSuggestedTipWei ? raised : minSuggestedTipWei;
  }

  /** Ethereum chains: the 60th percentile of the lowest tips in recent blocks. */
  #ethereumTip(head: StoredBlock): bigint {
    const tips: bigint[] = [];
    let stored: StoredBlock | undefined = head;
    for (let count = 0; stored !== undefined && count < SAMPLED_BLOCKS; count++) {
      const { header, transactions }: Block = stored.block;
      const paid = transactions.map((tx) => tipOf(tx, header.baseFeePerGas ?? 0n)).filter((tip) => tip > 1n);
      tips.push(...paid.sort(ascending).slice(0, SAMPLES_PER_BLOCK));
      stored = header.number === 0 ? undefined : this.#backend.chain.resolve({ kind: "number", number: header.number - 1 });
    }
    if (tips.length === 0) return 1_000_000_000n;
    return tips.sort(ascending)[Math.floor(((tips.length - 1) * SAMPLE_PERCENTILE) / 100)]!;
  }
}
