import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import type { GenesisState } from "@rnode/chain";
import { asciiToBytes, bigintToBytes, concatBytes, hexToBytes, keccak256, privateKeyToAddress } from "@rnode/primitives";
import type { FeeMarketTransaction, GenesisAccount } from "@rnode/protocol";

/** A chain to be generated: the content of its genesis, and the transactions of each block. */
export interface ChainPlan extends BlockPlan {
  readonly name: string;
  alloc(): GenesisAccount[];
}

export interface BlockPlan {
  readonly blocks: number;
  readonly transactionsPerBlock: number;
  /** the i-th transaction of a block and its sender's key; each sender sends one per block */
  transaction(
    block: number,
    index: number,
  ): { readonly key: Uint8Array; readonly sender: Uint8Array; readonly fields: TransactionFields };
}

type TransactionFields = Pick<FeeMarketTransaction, "nonce" | "to" | "value" | "gasLimit" | "data">;

const ETHER = 10n ** 18n;
const NO_BYTES = new Uint8Array(0);
const TOKENS = [hexToBytes(`0x${"70ce0".padStart(40, "0")}`), hexToBytes(`0x${"70ce1".padStart(40, "0")}`)] as const;
const PAIR = hexToBytes(`0x${"fa1e".padStart(40, "0")}`);

const word = (value: bigint): Uint8Array => bigintToBytes(value, 32);

function number32(value: number): Uint8Array {
  const bytes = new Uint8Array(32);
  new DataView(bytes.buffer).setUint32(28, value);
  return bytes;
}

/** An account that holds something and never signs. */
const holder = (index: number): Uint8Array => keccak256(number32(index)).subarray(12);

const keys: Uint8Array[] = [];
const senders: Uint8Array[] = [];

function keyOf(index: number): Uint8Array {
  keys[index] ??= keccak256(asciiToBytes(`sender ${index}`));
  return keys[index];
}

function senderOf(index: number): Uint8Array {
  senders[index] ??= privateKeyToAddress(keyOf(index));
  return senders[index];
}

const account = (address: Uint8Array, fields: Partial<GenesisAccount>): GenesisAccount => ({
  address,
  balance: 0n,
  nonce: 0n,
  code: NO_BYTES,
  storage: [],
  ...fields,
});

const fundedSenders = (count: number): GenesisAccount[] =>
  Array.from({ length: count }, (_, index) => account(senderOf(index), { balance: 1_000_000n * ETHER }));

/** Numbers spread over `size`, different for each block and index. */
function spread(block: number, index: number, size: number): number {
  const mixed = Math.imul(block * 1_000_003 + index, 0x9e37_79b1) ^ Math.imul(index + 1, 0x85eb_ca6b);
  return ((mixed ^ (mixed >>> 15)) >>> 0) % size;
}

/** Ether transfers to accounts all over the state, one in eight of them new. */
export function transfers(accounts: number, blocks: number, perBlock: number): ChainPlan {
  return {
    name: `ETH transfers, ${accounts.toLocaleString("en")} accounts`,
    blocks,
    transactionsPerBlock: perBlock,
    alloc: () => [
      ...fundedSenders(perBlock),
      ...Array.from({ length: accounts }, (_, index) => account(holder(index), { balance: BigInt(index + 1) * 1_000_000_007n })),
    ],
    transaction(block, index) {
      const to = index % 8 === 0 ? holder(0x4000_0000 + block * perBlock + index) : holder(spread(block, index, accounts));
      const fields = { nonce: BigInt(block), to, value: BigInt(1 + index), gasLimit: 21_000n, data: NO_BYTES };
      return { key: keyOf(index), sender: senderOf(index), fields };
    },
  };
}

const mappingSlot = (key: Uint8Array, slot: Uint8Array): Uint8Array => keccak256(concatBytes(new Uint8Array(12), key, slot));
const balanceSlot = (owner: Uint8Array): Uint8Array => mappingSlot(owner, number32(0));

const TRANSFER = keccak256(asciiToBytes("transfer(address,uint256)")).subarray(0, 4);

/** An ERC-20 token with many holders. */
export function tokenTransfers(holders: number, blocks: number, perBlock: number): ChainPlan {
  const code = compileExchange();
  return {
    name: `ERC-20, ${holders.toLocaleString("en")} holders`,
    blocks,
    transactionsPerBlock: perBlock,
    alloc: () => [
      ...fundedSenders(perBlock),
      account(TOKENS[0], {
        nonce: 1n,
        code: code.token,
        storage: [
          ...Array.from({ length: perBlock }, (_, index) => ({ slot: balanceSlot(senderOf(index)), value: word(10n ** 24n) })),
          ...Array.from({ length: holders }, (_, index) => ({ slot: balanceSlot(holder(index)), value: word(BigInt(index + 1)) })),
        ],
      }),
    ],
    transaction(block, index) {
      const to = index % 8 === 0 ? holder(0x4000_0000 + block * perBlock + index) : holder(spread(block, index, holders));
      const data = concatBytes(TRANSFER, new Uint8Array(12), to, number32(1 + index));
      return {
        key: keyOf(index),
        sender: senderOf(index),
        fields: { nonce: BigInt(block), to: TOKENS[0], value: 0n, gasLimit: 80_000n, data },
      };
    },
  };
}

/** A token with one holder per account. Each block touches a few random ones. */
export interface ScalePlan extends BlockPlan {
  readonly accounts: number;
  /** changed accounts and slots of each block, except those that every block changes */
  readonly keysPerBlock: number;
  readonly token: Uint8Array;
  readonly holder: (index: number) => Uint8Array;
  fill(state: GenesisState): void;
}

const ETHER_TRANSFERS = 66;
const TOKEN_TRANSFERS = 132;

/** Each sender sends once: 264 accounts and 264 slots a block, all over the state. */
export function scalePlan(accounts: number, blocks: number): ScalePlan {
  const perBlock = ETHER_TRANSFERS + TOKEN_TRANSFERS;
  const [token] = TOKENS;
  return {
    accounts,
    blocks,
    transactionsPerBlock: perBlock,
    keysPerBlock: 2 * ETHER_TRANSFERS + 3 * TOKEN_TRANSFERS,
    token,
    holder,
    fill(state) {
      const plain = { nonce: 0n, code: NO_BYTES, storage: [] };
      for (let index = 0; index < accounts; index++) {
        const address = holder(index);
        state.add({ ...plain, address, balance: BigInt(index + 1) * 1_000_000_007n });
        state.addSlot(token, { slot: balanceSlot(address), value: number32(index + 1) });
      }
      for (let index = 0; index < blocks * perBlock; index++) {
        const address = senderOf(index);
        state.add({ ...plain, address, balance: 1_000_000n * ETHER });
        state.addSlot(token, { slot: balanceSlot(address), value: word(10n ** 24n) });
      }
      state.add({ ...plain, address: token, balance: 0n, nonce: 1n, code: compileExchange().token });
    },
    transaction(block, index) {
      const number = block * perBlock + index;
      const to = holder(spread(block, index, accounts));
      const data = concatBytes(TRANSFER, new Uint8Array(12), to, number32(1 + index));
      const fields =
        index < ETHER_TRANSFERS
          ? { nonce: 0n, to, value: BigInt(1 + index), gasLimit: 21_000n, data: NO_BYTES }
          : { nonce: 0n, to: token, value: 0n, gasLimit: 80_000n, data };
      return { key: keyOf(number), sender: senderOf(number), fields };
    },
  };
}

/** Swaps in both directions through a pair of tokens; every trader has its own balances and allowances. */
export function swaps(traders: number, blocks: number, perBlock: number): ChainPlan {
  const code = compileExchange();
  const selector = keccak256(asciiToBytes("swap(bool,uint256)")).subarray(0, 4);
  const reserve = 10n ** 27n;
  const tokenStorage = (): GenesisAccount["storage"] => [
    { slot: balanceSlot(PAIR), value: word(reserve) },
    ...Array.from({ length: traders }, (_, index) => {
      const trader = senderOf(index);
      return [
        { slot: balanceSlot(trader), value: word(10n ** 24n) },
        { slot: mappingSlot(PAIR, mappingSlot(trader, number32(1))), value: word(10n ** 24n) },
      ];
    }).flat(),
  ];
  return {
    name: `swaps, ${traders.toLocaleString("en")} traders`,
    blocks,
    transactionsPerBlock: perBlock,
    alloc: () => [
      ...fundedSenders(traders),
      ...TOKENS.map((address) => account(address, { nonce: 1n, code: code.token, storage: tokenStorage() })),
      account(PAIR, {
        nonce: 1n,
        code: code.pair,
        storage: [
          { slot: number32(0), value: concatBytes(new Uint8Array(12), TOKENS[0]) },
          { slot: number32(1), value: concatBytes(new Uint8Array(12), TOKENS[1]) },
          { slot: number32(2), value: word((reserve << 112n) | reserve) },
        ],
      }),
    ],
    transaction(block, index) {
      // The traders take turns; a trader's nonce is the number of its turns before.
      const turn = block * perBlock + index;
      const trader = turn % traders;
      const data = concatBytes(selector, number32(spread(block, index, 2)), word(10n ** 18n + BigInt(turn)));
      const nonce = BigInt(Math.floor(turn / traders));
      return { key: keyOf(trader), sender: senderOf(trader), fields: { nonce, to: PAIR, value: 0n, gasLimit: 250_000n, data } };
    },
  };
}

interface CompilerOutput {
  readonly errors?: readonly { readonly severity: string; readonly formattedMessage: string }[];
  readonly contracts: Readonly<Record<string, Readonly<Record<string, { evm: { deployedBytecode: { object: string } } }>>>>;
}

let compiled: { readonly token: Uint8Array; readonly pair: Uint8Array } | undefined;

/** contracts/Exchange.sol, deployed bytecode. */
function compileExchange(): { readonly token: Uint8Array; readonly pair: Uint8Array } {
  if (compiled !== undefined) return compiled;
  const solc = createRequire(import.meta.url)("solc") as { compile(input: string): string };
  const content = readFileSync(new URL("../../contracts/Exchange.sol", import.meta.url), "utf8");
  const input = {
    language: "Solidity",
    sources: { "Exchange.sol": { content } },
    settings: {
      optimizer: { enabled: true, runs: 200 },
      evmVersion: "cancun",
      outputSelection: { "*": { "*": ["evm.deployedBytecode.object"] } },
    },
  };
  const output = JSON.parse(solc.compile(JSON.stringify(input))) as CompilerOutput;
  const errors = (output.errors ?? []).filter(({ severity }) => severity === "error");
  if (errors.length > 0) throw new Error(errors.map(({ formattedMessage }) => formattedMessage).join("\n"));
  const codeOf = (name: string) => hexToBytes(output.contracts["Exchange.sol"]![name]!.evm.deployedBytecode.object);
  compiled = { token: codeOf("Token"), pair: codeOf("Pair") };
  return compiled;
}
