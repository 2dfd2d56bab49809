import {
  bytesToHex,
  concatBytes,
  EMPTY_BYTES,
  EMPTY_OMMERS_HASH,
  EMPTY_REQUESTS_HASH,
  EMPTY_TRIE_ROOT,
  hexToBytes,
  keccak256,
  padBytesLeft,
  ZERO_HASH,
} from "@rnode/primitives";
import { createRandom } from "@rnode/primitives/testing";
import {
  type Block,
  type ChainConfig,
  type DepositTransaction,
  encodeReceipts,
  encodeTransaction,
  type Genesis,
  type GenesisAccount,
  type Header,
  hashHeader,
  type LegacyTransaction,
  nextBaseFee,
  nextExcessBlobGas,
  PREDEPLOYS,
  parseChainConfig,
  type Receipt,
  signTransaction,
  type Transaction,
} from "@rnode/protocol";
import { orderedTrieRoot } from "@rnode/trie";
import { BlockRun } from "../execute/block-run.ts";
import { newEngine } from "../execute/engine-module.ts";
import { requestsHash } from "../execute/requests.ts";
import { genesisBlock } from "../genesis/genesis.ts";
import { expectedDifficulty } from "../validation/difficulty.ts";
import { rulesOfBlock } from "../validation/rules.ts";
import { ACCOUNTS, attributesDeposit, devConfig, devGenesis, KEYS } from "./dev-chain.ts";
import { ModelState } from "./model-state.ts";

/*
 * Random chains with everything that is difficult for a state database: payments to old and new accounts, constructors that write storage,
 * slots that are set and cleared, contracts that are destroyed, created again at the same address, or paid before they are created, accounts
 * that have storage although they are empty from genesis on, and blocks that change nothing. Blocks are executed on a model of the state in
 * maps, and each block keeps its own model.
 */

/** Up to Shanghai, destroyed contracts are gone; OP Stack chains have deposits and, from Isthmus on, the message passer's root in the header. */
const KINDS = {
  /** proof of work; before block 8, receipts contain state roots, and empty accounts come into being */
  work: {
    config: parseChainConfig({
      chainId: 901,
      homesteadBlock: 2,
      eip150Block: 4,
      eip155Block: 6,
      eip158Block: 6,
      byzantiumBlock: 8,
      constantinopleBlock: 12,
      petersburgBlock: 12,
    }),
  },
  shanghai: { config: parseChainConfig({ chainId: 901, terminalTotalDifficulty: 0, shanghaiTime: 0 }) },
  canyon: { config: devConfig("canyon") },
  jovian: { config: devConfig("jovian") },
} as const satisfies Record<string, { readonly config: ChainConfig }>;
export type ModelKind = keyof typeof KINDS;
export const MODEL_KINDS = Object.keys(KINDS) as ModelKind[];

export interface ModelBlock {
  readonly block: Block;
  readonly hash: Uint8Array;
  readonly parent: ModelBlock | undefined;
  readonly state: ModelState;
  readonly receipts: readonly Receipt[];
  readonly senders: readonly Uint8Array[];
}

/**
 * Without calldata, the contract destroys itself in favour of the caller. Otherwise the calldata is pairs of slot and value: it writes each
 * value to its slot and emits LOG1(slot). It runs from Frontier on, and therefore contains no PUSH0.
 */
const BOMB_CODE = "36600657" + "33ff" + "5b6000" + "5b80358160200135908060006000a155604001803611600957" + "00";
/** Constructor: slot 7 = NUMBER, slot NUMBER = BLOCKHASH(NUMBER − 3). */
const BOMB_INIT = `${"43600755" + "60034303404355" + "60236017600039" + "60236000f3"}${BOMB_CODE}`;
/** Creates it by CREATE2 with the salt in the calldata and the value of the call; with more calldata, it is called at once and destroyed. */
const FACTORY_CODE = `${"603a6027600039" + "600035603a600034f5" + "60203611601857005b"}${"6000".repeat(5)}855af100${BOMB_INIT}`;

const account = (index: number): Uint8Array => keccak256(Uint8Array.of(index, 0xac)).subarray(12);
const named = (name: string): Uint8Array => hexToBytes(`0x${name.padStart(40, "0")}`);
const word = (value: number): Uint8Array => padBytesLeft(Uint8Array.of(value >> 16, value >> 8, value), 32);
const FACTORY = named("fac");
const SALTS = 3;
const create2Address = (salt: number): Uint8Array =>
  keccak256(concatBytes(Uint8Array.of(0xff), FACTORY, word(salt), keccak256(hexToBytes(BOMB_INIT)))).subarray(12);
const BOMBS = [0, 1].map((index) => named(`b0b${index}`));
const MADE = Array.from({ length: SALTS }, (_, salt) => create2Address(salt));
/** The last one has storage, and so prevents the creation of a contract at its address (EIP-7610) until it is touched. */
const EMPTY_ACCOUNTS = [...[0, 1, 2].map((index) => named(`e${index}`)), create2Address(SALTS)];
const PAYEES = Array.from({ length: 30 }, (_, index) => account(index));
const SLOTS = Array.from({ length: 24 }, (_, index) => (index < 6 ? word(index) : keccak256(word(index))));
const BLOCK_TIME_SEC = 12;
const GAS_PRICE_WEI = 10n ** 11n;

function genesisOf(kind: ModelKind): Genesis {
  const { header, alloc, ...rest } = devGenesis(kind === "jovian" ? "jovian" : "canyon");
  const storage = SLOTS.slice(0, 20).map((slot, index) => ({ slot, value: word(1 + index) }));
  const contract = (address: Uint8Array, code: string, fields: Partial<GenesisAccount> = {}): GenesisAccount => ({
    address,
    nonce: 1n,
    balance: 5n,
    code: hexToBytes(code),
    storage: [],
    ...fields,
  });
  return {
    ...rest,
    header: { ...header, difficulty: kind === "work" ? 0x20000n : 0n },
    alloc: [
      ...alloc.filter(({ address }) => bytesToHex(address) !== bytesToHex(PREDEPLOYS.l2ToL1MessagePasser)),
      contract(PREDEPLOYS.l2ToL1MessagePasser, BOMB_CODE, { storage: storage.slice(0, 1) }),
      contract(FACTORY, FACTORY_CODE),
      ...BOMBS.map((address) => contract(address, BOMB_CODE, { storage })),
      ...EMPTY_ACCOUNTS.map((address, index) =>
        contract(address, "0x", { nonce: 0n, balance: 0n, storage: index < 2 ? [] : storage.slice(0, index) }),
      ),
    ],
  };
}

export class ModelChain {
  readonly genesis: Genesis;
  readonly config: ChainConfig;
  readonly first: ModelBlock;
  readonly random: (limit: number) => number;
  readonly #engine = newEngine();
  #serial = 0;

  constructor(kind: ModelKind, seed: number) {
    this.config = KINDS[kind].config;
    this.genesis = genesisOf(kind);
    this.random = createRandom(seed);
    const { block, hash } = genesisBlock(this.genesis, this.config);
    const state = ModelState.ofGenesis(this.genesis.alloc);
    this.first = { block, hash, parent: undefined, state, receipts: [], senders: [] };
  }

  /** This many consecutive blocks on the parent, the lowest first. */
  extend(parent: ModelBlock, count: number): ModelBlock[] {
    const blocks: ModelBlock[] = [];
    for (let at = parent; blocks.length < count; ) blocks.push((at = this.#next(at)));
    return blocks;
  }

  #next(parent: ModelBlock): ModelBlock {
    const { config } = this;
    const parentHeader = parent.block.header;
    const position = { number: parentHeader.number + 1, timestamp: parentHeader.timestamp + BLOCK_TIME_SEC };
    const isWork = config.optimism === undefined && config.terminalTotalDifficulty === undefined;
    const rules = rulesOfBlock(config, { ...position, difficulty: isWork ? 1n : 0n });
    const { op } = rules;
    const unsealed = {
      ...position,
      parentHash: parent.hash,
      beneficiary: PAYEES[this.random(PAYEES.length)]!,
      difficulty: isWork ? expectedDifficulty(config, rules, parentHeader, position.timestamp) : 0n,
      gasLimit: parentHeader.gasLimit,
      mixHash: word(this.#serial++), // siblings differ, even where they change nothing
      ...(rules.hasBaseFee && { baseFeePerGas: nextBaseFee(config, parentHeader, position.timestamp) }),
      ...(rules.hasBlobGas && {
        excessBlobGas: op === undefined ? nextExcessBlobGas(config, parentHeader, position.timestamp) : 0n,
        parentBeaconBlockRoot: ZERO_HASH,
      }),
    };
    const run = new BlockRun({
      config,
      rules,
      engine: this.#engine,
      parent: parentHeader,
      header: unsealed,
      reader: parent.state,
      create2DeployerCode: () => EMPTY_BYTES,
      intermediateRoot: (changes) => parent.state.after(changes).root,
      gasRefunds: undefined,
    });
    const transactions: Transaction[] = [];
    const senders: Uint8Array[] = [];
    for (const { transaction, sender } of this.#transactions(parent.state)) {
      const applied = run.apply(transaction, sender, encodeTransaction(transaction));
      if (applied.kind === "rejected") throw new Error(JSON.stringify(applied));
      transactions.push(transaction);
      senders.push(sender);
    }
    const withdrawals = rules.hasWithdrawals ? [] : undefined;
    const finished = run.finish(withdrawals, []);
    if (finished.kind === "invalid") throw new Error(JSON.stringify(finished.fault));
    const { result } = finished;
    const state = parent.state.after(result.changes, (number) => {
      for (let at: ModelBlock | undefined = parent; at !== undefined; at = at.parent) {
        if (at.block.header.number === number) return at.hash;
      }
      return undefined;
    });
    const header: Header = {
      ...unsealed,
      ommersHash: EMPTY_OMMERS_HASH,
      stateRoot: state.root,
      transactionsRoot: orderedTrieRoot(transactions.map(encodeTransaction)),
      receiptsRoot: orderedTrieRoot(encodeReceipts(result.receipts)),
      logsBloom: result.logsBloom,
      gasUsed: result.gasUsed,
      extraData: rules.extraDataVersion !== undefined ? parentHeader.extraData : EMPTY_BYTES,
      nonce: new Uint8Array(8),
      ...(withdrawals !== undefined && {
        withdrawalsRoot: rules.hasMessagePasserRoot ? state.storageRoot(PREDEPLOYS.l2ToL1MessagePasser) : EMPTY_TRIE_ROOT,
      }),
      ...(rules.hasBlobGas && { blobGasUsed: result.daFootprint }),
      ...(rules.hasExecutionRequests && {
        requestsHash: op === undefined ? requestsHash(result.requests) : EMPTY_REQUESTS_HASH,
      }),
    };
    const block: Block = { header, transactions, ommers: [], ...(withdrawals !== undefined && { withdrawals }) };
    return { block, hash: hashHeader(header), parent, state, receipts: result.receipts, senders };
  }

  #transactions(state: ModelState, isOp = this.config.optimism !== undefined): { transaction: Transaction; sender: Uint8Array }[] {
    const { random } = this;
    const made: { transaction: Transaction; sender: Uint8Array }[] = [];
    const nonces = ACCOUNTS.map((address) => state.readAccount(address)!.nonce);
    const depositOf = (fields: Partial<DepositTransaction>): void => {
      const transaction = { ...attributesDeposit(1), sourceHash: keccak256(word(this.#serial++)), ...fields };
      made.push({ transaction, sender: transaction.from });
    };
    if (isOp) depositOf({});
    const count = random(6) === 0 ? 0 : 1 + random(7);
    for (const call of Array.from({ length: count }, () => this.#calls()).flat()) {
      if (isOp && random(3) > 0) {
        depositOf({ from: PAYEES[random(PAYEES.length)]!, mint: BigInt(random(3)) + call.value, ...call });
        continue;
      }
      const from = random(ACCOUNTS.length);
      const common = { type: 0 as const, chainId: undefined, nonce: nonces[from]!++, gasPrice: GAS_PRICE_WEI };
      const unsigned: LegacyTransaction = { ...common, ...call };
      made.push({ transaction: signTransaction(unsigned, KEYS[from]!), sender: ACCOUNTS[from]! });
    }
    return made;
  }

  #calls(): Pick<LegacyTransaction, "to" | "value" | "data" | "gasLimit">[] {
    const { random } = this;
    if (random(12) > 0) return [this.#call()];
    // It is destroyed and created again in one block.
    const salt = random(SALTS);
    const common = { value: 0n, gasLimit: 400_000n };
    return [
      { ...common, to: MADE[salt]!, data: EMPTY_BYTES },
      { ...common, to: FACTORY, data: word(salt) },
    ];
  }

  #call(): Pick<LegacyTransaction, "to" | "value" | "data" | "gasLimit"> {
    const { random } = this;
    const oneOf = <T>(items: readonly T[]): T => items[random(items.length)]!;
    const common = { value: 0n, data: EMPTY_BYTES, gasLimit: 400_000n };
    const dice = random(20);
    if (dice < 5) return { ...common, to: oneOf(PAYEES), value: BigInt(random(1000)) };
    if (dice < 6) return { ...common, to: oneOf(MADE), value: 1n }; // which may not have been created yet, or have been destroyed
    if (dice < 7) return { ...common, to: oneOf(EMPTY_ACCOUNTS), value: BigInt(random(4) >> 1) };
    if (dice < 8) return { ...common, to: oneOf([BOMBS[0]!, ...MADE]) };
    if (dice < 9) return { ...common, to: undefined, data: hexToBytes(BOMB_INIT) };
    if (dice < 12) return { ...common, to: FACTORY, data: concatBytes(word(random(SALTS + 1)), new Uint8Array(random(4) >> 1)) };
    const to = oneOf([...BOMBS, ...MADE, ...MADE, PREDEPLOYS.l2ToL1MessagePasser]);
    const writes = Array.from({ length: 1 + random(4) }, () => concatBytes(oneOf(SLOTS), word(oneOf([0, 0, 1, 2, 70_000]))));
    return { ...common, to, data: concatBytes(...writes), ...(random(8) === 0 && { gasLimit: 50_000n }) };
  }
}
