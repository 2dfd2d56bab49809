import type { AccountChange, StateChanges } from "@rnode/evm";
import {
  bytesToHex,
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
  exactNumber,
  type Genesis,
  type GenesisHeader,
  type Header,
  hashHeader,
  PREDEPLOYS,
} from "@rnode/protocol";
import {
  type BlockCommit,
  type ChainStoreBulk,
  type ChainStoreReader,
  type ChainStoreWriter,
  type GenesisRows,
  MAX_BLOCK_NUMBER,
  type SnapshotBase,
  type SnapshotRows,
  type StateWrite,
} from "@rnode/storage";
import type { TrieNodeReader } from "@rnode/trie";
import { ChainError } from "../faults.ts";
import { messagePasserRoot, type ParentTrie, stateUpdate } from "../state-roots/state-root.ts";
import type { GenesisState } from "./genesis-state.ts";

/** EIP-1559: the base fee of a chain that starts with London */
const INITIAL_BASE_FEE_WEI = 1_000_000_000n;
const EMPTY_BLOOM = new Uint8Array(256);

const NO_NODES: TrieNodeReader = { readNode: () => undefined };
const EMPTY_TRIE: ParentTrie = { stateRoot: EMPTY_TRIE_ROOT, nodes: NO_NODES, storageRootOf: () => undefined };

/** Block 0 with its entire state in memory, for tests and public suites. A client uses `sealGenesis`. */
export function genesisBlock(genesis: Genesis, config: ChainConfig): BlockCommit {
  const changes = genesisChanges(genesis);
  const update = stateUpdate(EMPTY_TRIE, changes);
  const block = blockOf(genesis.header, config, {
    stateRoot: update.stateRoot,
    messagePasserRoot: messagePasserRoot(EMPTY_TRIE, update),
  });
  const { storageRoots, nodes } = update;
  return { block, hash: hashHeader(block.header), receipts: [], senders: [], changes, storageRoots, nodes };
}

/** Block 0 and its state, ready to be written. */
export interface SealedGenesis {
  readonly block: Block;
  readonly hash: Uint8Array;
  readonly state: GenesisState;
}

/**
 * Creates block 0 from the accounts in `state`.
 *
 * @throws {CodedError} genesis/duplicate-account, genesis/duplicate-slot
 */
export function sealGenesis(header: GenesisHeader, config: ChainConfig, state: GenesisState): SealedGenesis {
  const { stateRoot, storageRoot } = state.seal(PREDEPLOYS.l2ToL1MessagePasser);
  const block = blockOf(header, config, { stateRoot, messagePasserRoot: storageRoot });
  return { block, hash: hashHeader(block.header), state };
}

/**
 * Fields required by a fork that is active at genesis are filled in, as all clients do. `extraData` stays as in the file, because
 * published genesis hashes depend on it.
 */
function blockOf(
  given: GenesisHeader,
  config: ChainConfig,
  roots: { readonly stateRoot: Uint8Array; readonly messagePasserRoot: Uint8Array },
): Block {
  const rules = blockRules(config, { number: given.number, timestamp: given.timestamp });
  const { hasWithdrawals, hasMessagePasserRoot } = rules;
  const header: Header = {
    parentHash: given.parentHash,
    ommersHash: EMPTY_OMMERS_HASH,
    beneficiary: given.beneficiary,
    stateRoot: roots.stateRoot,
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
    ...(given.exact !== undefined && { exact: given.exact }),
    ...(rules.hasBaseFee && { baseFeePerGas: given.baseFeePerGas ?? INITIAL_BASE_FEE_WEI }),
    ...(hasWithdrawals && { withdrawalsRoot: hasMessagePasserRoot ? roots.messagePasserRoot : EMPTY_TRIE_ROOT }),
    ...(rules.hasBlobGas && { blobGasUsed: given.blobGasUsed ?? 0n, excessBlobGas: given.excessBlobGas ?? 0n }),
    ...(rules.hasBeaconRoot && { parentBeaconBlockRoot: given.parentBeaconBlockRoot ?? ZERO_HASH }),
    ...(rules.hasExecutionRequests && { requestsHash: EMPTY_REQUESTS_HASH }),
  };
  return { header, transactions: [], ommers: [], ...(hasWithdrawals && { withdrawals: [] }) };
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

/** The part of a store that writing a genesis needs. */
export type GenesisStore = Pick<ChainStoreReader, "head" | "readMeta"> &
  Pick<ChainStoreWriter, "writeMeta"> &
  Pick<ChainStoreBulk, "writeLargeGenesis">;

/**
 * Writes the genesis into an empty store, and leaves a store that already has it unchanged. A large genesis takes several commits, of
 * which the last makes it valid. If the process is killed before that, it is written again from the start.
 *
 * @returns "again": rows of an interrupted attempt were removed first
 * @throws {CodedError} chain/other-genesis, naming both hashes; chain/genesis-number-too-large
 */
export function initGenesis(store: GenesisStore, { block, hash, state }: SealedGenesis): "present" | "written" | "again" {
  return initFirstBlock(store, { block, hash, write: (rows) => state.rowsInto(rows) });
}

/** Like `initGenesis`, of a block whose state comes from elsewhere. */
export function initFirstBlock(
  store: GenesisStore,
  { block, hash, write }: Pick<SealedGenesis, "block" | "hash"> & { readonly write: StateWrite<GenesisRows> },
): "present" | "written" | "again" {
  const stored = storedGenesisHash(store);
  if (stored === undefined) {
    const number = exactNumber(block.header);
    if (number >= MAX_BLOCK_NUMBER)
      throw new ChainError("chain/genesis-number-too-large", { number, maximum: MAX_BLOCK_NUMBER - 1 });
    store.writeMeta(GENESIS_HASH_KEY, hash); // has no effect until there is a head
    return store.writeLargeGenesis(block, hash, write) ? "again" : "written";
  }
  if (!equalBytes(stored, hash)) {
    throw new ChainError("chain/other-genesis", {
      database: bytesToHex(stored),
      configured: bytesToHex(hash),
    });
  }
  return "present";
}

/**
 * Writes a chain that begins with a snapshot into an empty store. Yields between two commits.
 *
 * @returns whether rows of an interrupted attempt were removed first
 * @throws {CodedError} storage/not-empty, storage/incomplete-snapshot
 */
export function* initSnapshot(
  store: Pick<ChainStoreWriter, "writeMeta"> & Pick<ChainStoreBulk, "snapshotCommits">,
  base: SnapshotBase,
  write: StateWrite<SnapshotRows>,
): Generator<void, boolean> {
  store.writeMeta(GENESIS_HASH_KEY, base.genesis.hash); // has no effect until there is a head
  return yield* store.snapshotCommits(base, write);
}

/** Hash of the store's genesis block; undefined if the store is empty. */
export function storedGenesisHash(store: Pick<ChainStoreReader, "head" | "readMeta">): Uint8Array | undefined {
  return store.head() === undefined ? undefined : store.readMeta(GENESIS_HASH_KEY);
}
