import type { AccountChange, StateChanges } from "@rnode/evm";
import {
  bytesToHex,
  CodedError,
  EMPTY_KECCAK,
  EMPTY_OMMERS_HASH,
  EMPTY_REQUESTS_HASH,
  EMPTY_TRIE_ROOT,
  equalBytes,
  isZeroBytes,
  keccak256,
  ZERO_HASH,
} from "@rnode/primitives";
import {
  type Block,
  blockRules,
  type ChainConfig,
  type Genesis,
  type Header,
  hashHeader,
  isEvmForkAtLeast,
  isOpForkAtLeast,
} from "@rnode/protocol";
import type { BlockCommit, ChainStore } from "@rnode/storage";
import type { TrieNodeReader } from "@rnode/trie";
import type { ChainErrorCode } from "./faults.ts";
import { messagePasserRoot, type ParentTrie, stateUpdate } from "./state-root.ts";

/** EIP-1559: base fee of a chain that starts with London */
const INITIAL_BASE_FEE_WEI = 1_000_000_000n;
const EMPTY_BLOOM = new Uint8Array(256);

const NO_NODES: TrieNodeReader = { readNode: () => undefined };
const EMPTY_TRIE: ParentTrie = { stateRoot: EMPTY_TRIE_ROOT, nodes: NO_NODES, storageRootOf: () => undefined };

/**
 * Block 0 with its state. Fields that a fork active at genesis demands are filled in as all clients do; `extraData` stays as
 * the file has it, because that is what published genesis hashes refer to.
 */
export function genesisBlock(genesis: Genesis, config: ChainConfig): BlockCommit {
  const changes = genesisChanges(genesis);
  const update = stateUpdate(EMPTY_TRIE, changes);
  const { header: given } = genesis;
  const rules = blockRules(config, { number: given.number, timestamp: given.timestamp });
  const isShanghai = isEvmForkAtLeast(rules.evm, "shanghai");
  const isCancun = isEvmForkAtLeast(rules.evm, "cancun");
  const hasStorageRootAsWithdrawalsRoot = rules.op !== undefined && isOpForkAtLeast(rules.op, "isthmus");
  const header: Header = {
    parentHash: given.parentHash,
    ommersHash: EMPTY_OMMERS_HASH,
    beneficiary: given.beneficiary,
    stateRoot: update.stateRoot,
    transactionsRoot: EMPTY_TRIE_ROOT,
    receiptsRoot: EMPTY_TRIE_ROOT,
    logsBloom: EMPTY_BLOOM,
    difficulty: given.difficulty,
    number: given.number,
    gasLimit: given.gasLimit,
    gasUsed: given.gasUsed,
    timestamp: given.timestamp,
    extraData: given.extraData,
    mixHash: given.mixHash,
    nonce: given.nonce,
    ...(isEvmForkAtLeast(rules.evm, "london") && { baseFeePerGas: given.baseFeePerGas ?? INITIAL_BASE_FEE_WEI }),
    ...(isShanghai && {
      withdrawalsRoot: hasStorageRootAsWithdrawalsRoot ? messagePasserRoot(EMPTY_TRIE, update) : EMPTY_TRIE_ROOT,
    }),
    ...(isCancun && {
      blobGasUsed: given.blobGasUsed ?? 0n,
      excessBlobGas: given.excessBlobGas ?? 0n,
      parentBeaconBlockRoot: given.parentBeaconBlockRoot ?? ZERO_HASH,
    }),
    ...(isEvmForkAtLeast(rules.evm, "prague") && { requestsHash: EMPTY_REQUESTS_HASH }),
  };
  const block: Block = { header, transactions: [], ommers: [], ...(isShanghai && { withdrawals: [] }) };
  return {
    block,
    hash: hashHeader(header),
    receipts: [],
    senders: [],
    changes,
    storageRoots: update.storageRoots,
    nodes: update.nodes,
  };
}

function genesisChanges({ alloc }: Genesis): StateChanges {
  const accounts: AccountChange[] = [];
  const codes = new Map<string, { codeHash: Uint8Array; code: Uint8Array }>();
  for (const { address, balance, nonce, code, storage } of alloc) {
    const codeHash = code.length === 0 ? EMPTY_KECCAK : keccak256(code);
    if (code.length > 0) codes.set(bytesToHex(codeHash), { codeHash, code });
    accounts.push({
      address,
      before: undefined,
      after: { nonce, balance, codeHash },
      storageCleared: false,
      storage: storage
        .filter(({ value }) => !isZeroBytes(value))
        .map(({ slot, value }) => ({ slot, before: ZERO_HASH, after: value })),
    });
  }
  return { accounts, codes: [...codes.values()] };
}

const GENESIS_HASH_KEY = "genesis-hash";

/**
 * Writes the genesis into an empty store; a store that has it already is left alone.
 *
 * @returns whether anything was written
 * @throws {CodedError} chain/other-genesis, naming both hashes
 */
export function initGenesis(store: ChainStore, genesis: BlockCommit): boolean {
  const stored = storedGenesisHash(store);
  if (stored === undefined) {
    store.writeMeta(GENESIS_HASH_KEY, genesis.hash); // counts only once there is a head
    store.writeGenesis(genesis);
    return true;
  }
  if (!equalBytes(stored, genesis.hash)) {
    throw new CodedError<ChainErrorCode>("chain/other-genesis", {
      database: bytesToHex(stored),
      configured: bytesToHex(genesis.hash),
    });
  }
  return false;
}

/** Hash of the block the store began with; undefined when it is empty. */
export function storedGenesisHash(store: ChainStore): Uint8Array | undefined {
  return store.head() === undefined ? undefined : store.readMeta(GENESIS_HASH_KEY);
}
