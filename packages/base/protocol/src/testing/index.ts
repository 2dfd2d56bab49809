export * from "./rollup-config.ts";

import { EMPTY_OMMERS_HASH, EMPTY_TRIE_ROOT } from "@rnode/primitives";
import type { Header } from "../index.ts";

export * from "./batches.ts";
export * from "./contract-logs.ts";
export { headerJson } from "./header-json.ts";
export { testRollupConfig, testSystemConfig } from "./rollup-config.ts";
export { testRollupConfigJson } from "./rollup-config-json.ts";
export { missingUpgradeFiles } from "./upgrade-files.ts";

/** A header in which all fields but the given ones have neutral values. */
export const headerOf = (fields: Partial<Header>): Header => ({
  parentHash: new Uint8Array(32),
  ommersHash: EMPTY_OMMERS_HASH,
  beneficiary: new Uint8Array(20),
  stateRoot: EMPTY_TRIE_ROOT,
  transactionsRoot: EMPTY_TRIE_ROOT,
  receiptsRoot: EMPTY_TRIE_ROOT,
  logsBloom: new Uint8Array(256),
  difficulty: 0n,
  number: 0,
  gasLimit: 30_000_000n,
  gasUsed: 0n,
  timestamp: 0,
  extraData: new Uint8Array(0),
  mixHash: new Uint8Array(32),
  nonce: new Uint8Array(8),
  ...fields,
});
