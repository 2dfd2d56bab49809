import { type Chain, createSenderCache, initGenesis, openChain, PreparedBlock } from "@rnode/chain";
import {
  bytesToHex,
  EMPTY_OMMERS_HASH,
  EMPTY_REQUESTS_HASH,
  EMPTY_TRIE_ROOT,
  type Hex,
  hexToBytes,
  keccak256,
  privateKeyToAddress,
  toQuantity,
  ZERO_ADDRESS,
  ZERO_HASH,
} from "@rnode/primitives";
import { type Block, blockRules, type ChainConfig, encodeBlock, type Header, hashHeader, type Transaction } from "@rnode/protocol";
import { openChainStore } from "@rnode/storage";
import { genesisOfSpec, loadChainSpec } from "../setup/chain-spec.ts";

/*
 * Makes blocks of an Ethereum chain one by one, for any fork. The roots of a header come from the chain's error messages, which
 * contain the computed values: the header is corrected until the chain accepts it. (The public suites test whether the values are
 * right.)
 */

export const FORK_KEY = new Uint8Array(32).fill(0x5e);
const SENDER = bytesToHex(privateKeyToAddress(FORK_KEY));
export const FORK_BLOCK_TIME_SEC = 12;
export const FORK_GENESIS_TIME_SEC = 1_700_000_000;
/** The contracts for Prague's requests (EIP-7002, EIP-7251); here they return none. */
const REQUEST_CONTRACTS = ["0x00000961ef480eb55e80d19ad83579a64c007002", "0x0000bbddc7ce488642fb579f8b00f3a590007251"];

export const forkGenesis = (config: Readonly<Record<string, unknown>>) => ({
  config,
  timestamp: toQuantity(BigInt(FORK_GENESIS_TIME_SEC)),
  difficulty: "0x20000",
  gasLimit: "0x1c9c380",
  alloc: {
    [SENDER]: { balance: toQuantity(10n ** 21n) },
    ...Object.fromEntries(REQUEST_CONTRACTS.map((address) => [address, { nonce: "0x1", code: "0x00" }])),
  },
});

type Fields = { -readonly [K in keyof Header]: Header[K] };
const MAX_CORRECTIONS = 16;

export class ForkChain {
  readonly #chain: Chain;
  readonly #config: ChainConfig;
  #parent: Block;
  #nonce = 0n;
  /** RLP of the blocks, from block 1 on */
  readonly blocks: Uint8Array[] = [];
  readonly hashes: Hex[] = [];

  private constructor(chain: Chain, config: ChainConfig) {
    this.#chain = chain;
    this.#config = config;
    this.#parent = chain.genesis.block;
    this.hashes.push(bytesToHex(chain.genesis.hash));
  }

  static async open(genesisPath: string, folder: string): Promise<ForkChain> {
    const { config, ...spec } = await loadChainSpec({ chain: genesisPath });
    const store = openChainStore(folder, { sync: "interval" });
    initGenesis(store, await genesisOfSpec({ ...spec, config }));
    const senders = createSenderCache({ workers: 0 });
    return new ForkChain(openChain({ store, config, senders, nowMs: () => 0 }), config);
  }

  get head(): Header {
    return this.#parent.header;
  }

  /** The next nonce of FORK_KEY's account. */
  takeNonce(): bigint {
    return this.#nonce++;
  }

  /** A header that could come next, except for the values that it commits to. */
  template(): Fields {
    const parent = this.#parent.header;
    const number = parent.number + 1;
    const timestamp = parent.timestamp + FORK_BLOCK_TIME_SEC;
    const rules = blockRules(this.#config, { number, timestamp });
    const isFirstWithBaseFee = rules.hasBaseFee && parent.baseFeePerGas === undefined;
    return {
      parentHash: hashHeader(parent),
      ommersHash: EMPTY_OMMERS_HASH,
      beneficiary: ZERO_ADDRESS,
      stateRoot: EMPTY_TRIE_ROOT,
      transactionsRoot: EMPTY_TRIE_ROOT,
      receiptsRoot: EMPTY_TRIE_ROOT,
      logsBloom: new Uint8Array(256),
      difficulty: parent.difficulty,
      number,
      gasLimit: isFirstWithBaseFee ? 2n * parent.gasLimit : parent.gasLimit,
      gasUsed: 0n,
      timestamp,
      extraData: new Uint8Array(0),
      mixHash: ZERO_HASH,
      nonce: new Uint8Array(8),
      ...(rules.hasBaseFee && { baseFeePerGas: 1_000_000_000n }),
      ...(rules.hasWithdrawals && { withdrawalsRoot: EMPTY_TRIE_ROOT }),
      ...(rules.hasBlobGas && {
        blobGasUsed: 0n,
        excessBlobGas: 0n,
        parentBeaconBlockRoot: keccak256(hashHeader(parent)),
      }),
      ...(rules.hasExecutionRequests && { requestsHash: EMPTY_REQUESTS_HASH }),
    };
  }

  /**
   * Adds a block with these transactions and ommers.
   *
   * @throws Error naming the rule that no correction of the header satisfies
   */
  add(transactions: readonly Transaction[], ommers: readonly Header[] = []): Header {
    const header = this.template();
    for (let corrections = 0; corrections < MAX_CORRECTIONS; corrections++) {
      const withdrawals = header.withdrawalsRoot === undefined ? undefined : [];
      const block: Block = { header: { ...header }, transactions, ommers, withdrawals };
      const prepared = new PreparedBlock(block);
      const { hash } = prepared;
      const { status, validationError = "" } = this.#chain.newPayload(prepared);
      if (status === "VALID") {
        this.#chain.forkchoiceUpdated(
          { headBlockHash: hash, safeBlockHash: ZERO_HASH, finalizedBlockHash: ZERO_HASH },
          undefined,
          3,
        );
        this.blocks.push(encodeBlock(block));
        this.hashes.push(bytesToHex(hash));
        this.#parent = block;
        return block.header;
      }
      if (!correct(header, validationError)) throw new Error(`${status} ${validationError}`);
    }
    throw new Error("never right");
  }

  async close(): Promise<void> {
    await this.#chain.close();
  }
}

const FIELDS: Readonly<Record<string, keyof Header>> = {
  "difficulty-mismatch": "difficulty",
  "base-fee-mismatch": "baseFeePerGas",
  "excess-blob-gas-mismatch": "excessBlobGas",
  "blob-gas-used-mismatch": "blobGasUsed",
  "gas-used-mismatch": "gasUsed",
  "state-root-mismatch": "stateRoot",
  "receipts-root-mismatch": "receiptsRoot",
  "transactions-root-mismatch": "transactionsRoot",
  "requests-hash-mismatch": "requestsHash",
  "ommers-hash-mismatch": "ommersHash",
};

function correct(header: Fields, validationError: string): boolean {
  if (validationError.startsWith("terminal-difficulty-reached")) {
    header.difficulty = 0n;
    return true;
  }
  const [, rule = "", value = ""] = /^(\S+) (?:computed|expected)=(\S+)/.exec(validationError) ?? [];
  const field = FIELDS[rule];
  if (field === undefined) return false;
  Object.assign(header, { [field]: value.startsWith("0x") ? hexToBytes(value) : BigInt(value) });
  return true;
}
