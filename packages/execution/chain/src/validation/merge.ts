import { bytesToHex, type Hex, LruCache } from "@rnode/primitives";
import type { BlockRules, ChainConfig, Header } from "@rnode/protocol";
import type { BlockFault } from "../api.ts";
import { blockFault } from "../faults.ts";

const MAX_REMEMBERED = 1024;

/**
 * The merge by terminal total difficulty: proof of stake begins after the first block that reaches it, and from then on there is only
 * proof of stake. Spec: EIP-3675
 */
export function checkMerge(
  config: ChainConfig,
  rules: BlockRules,
  parent: { readonly header: Header; readonly totalDifficulty: () => bigint | undefined },
  header: Header,
): BlockFault | undefined {
  const terminal = config.terminalTotalDifficulty ?? 0n;
  if (rules.op !== undefined || terminal === 0n) return undefined;
  if (parent.header.difficulty === 0n && parent.header.number > 0) {
    return rules.isPostMerge ? undefined : blockFault("difficulty-mismatch", { expected: 0, got: header.difficulty });
  }
  const total = parent.totalDifficulty();
  if (total === undefined) return undefined;
  if (rules.isPostMerge && total < terminal) return blockFault("terminal-difficulty-not-reached", { terminal, total });
  if (!rules.isPostMerge && total >= terminal) return blockFault("terminal-difficulty-reached", { terminal, total });
  return undefined;
}

/** Total difficulties of recent blocks; the first one requested is summed up from the genesis block on. */
export class TotalDifficulties {
  readonly #headerOf: (hash: Uint8Array) => Header | undefined;
  readonly #known = new LruCache<Hex, bigint>(MAX_REMEMBERED);

  constructor(headerOf: (hash: Uint8Array) => Header | undefined) {
    this.#headerOf = headerOf;
  }

  /** undefined: an ancestor is missing */
  of(hash: Uint8Array): bigint | undefined {
    let above = 0n;
    for (let at = hash; ; ) {
      const known = this.#known.get(bytesToHex(at));
      const header = known === undefined ? this.#headerOf(at) : undefined;
      if (known === undefined && header === undefined) return undefined;
      above += known ?? header!.difficulty;
      if (header === undefined || header.number === 0) break;
      at = header.parentHash;
    }
    this.#known.set(bytesToHex(hash), above);
    return above;
  }
}
