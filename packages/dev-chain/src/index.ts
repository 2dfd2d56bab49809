export { BlobStore } from "./beacon/blob-store.ts";
export { isMerkleBranch } from "./beacon/ssz.ts";
export { DevChain, type DevChainOptions } from "./dev-chain.ts";
export type { DevPool } from "./dev-pool.ts";
export { DEV_MNEMONIC, type DevAccount, devAccounts } from "./genesis/dev-accounts.ts";
export { DEFAULT_DEV_FORK, DEV_FORKS, devChainConfig, devGenesis } from "./genesis/dev-genesis.ts";
export { type DevMethodsDeps, devMethods } from "./methods/dev-methods.ts";
export { StateEditor } from "./state-editor.ts";
