/**
 * Where a method of the public namespaces runs.
 *
 * - `reader`: in the reader that got the request, from the database alone. What costs time belongs here.
 * - `reader-first`: likewise; what is not found there may be in the writer's memory (the pool, blocks that fork choice has not chosen), which
 *   is asked then.
 * - `pending`: in the reader, or in the writer when it is asked about the block `pending`.
 * - `filter-owner`: in the reader whose number is in the filter's id.
 * - `bad-block`: in the reader, which asks the writer for the block first.
 * - `writer`: in the process that owns the chain, which answers from memory.
 */
export type MethodClass = "reader" | "reader-first" | "pending" | "filter-owner" | "bad-block" | "writer";

const READER = "reader";
const WRITER = "writer";

/** Namespaces whose methods all belong to one class. */
const NAMESPACES: Readonly<Record<string, MethodClass>> = {
  net: READER,
  web3: READER,
  rpc: READER,
  trace: READER,
  txpool: WRITER,
  miner: WRITER,
  testing: WRITER,
  admin: WRITER,
};

/** The others. A test sees to it that no method is missing. */
const METHODS: Readonly<Record<string, MethodClass>> = {
  eth_accounts: READER,
  eth_baseFee: READER,
  eth_blobBaseFee: READER,
  eth_blockNumber: READER,
  eth_call: READER,
  eth_callMany: READER,
  eth_capabilities: READER,
  eth_chainId: READER,
  eth_coinbase: READER,
  eth_config: READER,
  eth_createAccessList: READER,
  eth_estimateGas: READER,
  eth_feeHistory: READER,
  eth_fillTransaction: READER, // asks the writer for the nonce
  eth_gasPrice: READER,
  eth_getAccount: READER,
  eth_getAccountInfo: READER,
  eth_getBalance: READER,
  eth_getBlockByHash: "reader-first",
  eth_getBlockByNumber: READER,
  eth_getBlockReceipts: "reader-first",
  eth_getBlockTransactionCountByHash: "reader-first",
  eth_getBlockTransactionCountByNumber: READER,
  eth_getCode: READER,
  eth_getFilterChanges: "filter-owner",
  eth_getFilterLogs: "filter-owner",
  eth_getHeaderByHash: "reader-first",
  eth_getHeaderByNumber: READER,
  eth_getLogs: READER,
  eth_getMultiProof: READER,
  eth_getProof: READER,
  eth_getRawTransactionByBlockHashAndIndex: "reader-first",
  eth_getRawTransactionByBlockNumberAndIndex: READER,
  eth_getRawTransactionByHash: "reader-first",
  eth_getStorageAt: READER,
  eth_getStorageValues: READER,
  eth_getTransactionByBlockHashAndIndex: "reader-first",
  eth_getTransactionByBlockNumberAndIndex: READER,
  eth_getTransactionByHash: "reader-first",
  eth_getTransactionBySenderAndNonce: "reader-first",
  eth_getTransactionCount: "pending",
  eth_getTransactionReceipt: READER,
  eth_getUncleByBlockHashAndIndex: READER,
  eth_getUncleByBlockNumberAndIndex: READER,
  eth_getUncleCountByBlockHash: "reader-first",
  eth_getUncleCountByBlockNumber: READER,
  eth_getWork: READER,
  eth_hashrate: READER,
  eth_maxPriorityFeePerGas: READER,
  eth_mining: READER,
  eth_newBlockFilter: READER,
  eth_newFilter: READER,
  eth_newPendingTransactionFilter: READER,
  eth_pendingTransactions: READER,
  eth_protocolVersion: READER,
  eth_sendRawTransaction: READER, // the transaction itself goes to the writer
  eth_sendRawTransactionConditional: READER,
  eth_sendRawTransactionSync: READER,
  eth_sendTransaction: READER,
  eth_sign: READER,
  eth_signTransaction: READER,
  eth_signTypedData: READER,
  eth_simulateV1: READER,
  eth_submitHashrate: READER,
  eth_submitWork: READER,
  eth_syncing: READER,
  eth_uninstallFilter: "filter-owner",
  debug_accountRange: READER,
  debug_chainConfig: READER,
  debug_codeByHash: READER,
  debug_dbGet: READER,
  debug_dumpBlock: READER,
  debug_executionWitness: READER,
  debug_executionWitnessByBlockHash: READER,
  debug_getBadBlocks: WRITER,
  debug_getModifiedAccountsByHash: READER,
  debug_getModifiedAccountsByNumber: READER,
  debug_getRawBlock: READER,
  debug_getRawHeader: READER,
  debug_getRawReceipts: READER,
  debug_getRawTransaction: "reader-first",
  debug_getRawTransactions: READER,
  debug_intermediateRoots: READER,
  debug_setHead: WRITER,
  debug_storageRangeAt: READER,
  debug_traceBadBlock: "bad-block",
  debug_traceBlock: READER,
  debug_traceBlockByHash: READER,
  debug_traceBlockByNumber: READER,
  debug_traceCall: READER,
  debug_traceCallMany: READER,
  debug_traceTransaction: READER,
};

/** undefined: nobody has said (the writer answers it) */
export function classOfMethod(name: string): MethodClass | undefined {
  if (Object.hasOwn(METHODS, name)) return METHODS[name];
  const namespace = name.slice(0, Math.max(0, name.search(/[_.]/)));
  return Object.hasOwn(NAMESPACES, namespace) ? NAMESPACES[namespace] : undefined;
}

export const CLASSED_METHODS: readonly string[] = Object.keys(METHODS);
