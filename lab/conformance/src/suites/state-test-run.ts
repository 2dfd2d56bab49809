import type { AccountRecord, EvmEngine, StateChanges, StateReader, TransactionResult } from "@rnode/evm";
import {
  asciiToBytes,
  bytesToHex,
  compareBytes,
  EMPTY_KECCAK,
  encodeRlp,
  type Hex,
  hexToBytes,
  isZeroBytes,
  keccak256,
} from "@rnode/primitives";
import { blobBaseFee, forkRules, type Log } from "@rnode/protocol";
import { encodeAccount, encodeStorageValue, SortedTrieBuilder } from "@rnode/trie";
import type { NoteUncompared } from "../vectors.ts";
import { wrongRefusal } from "./expected-exceptions.ts";
import { type StateTest, type StateTestCase, testBytes, testNumber } from "./state-test-case.ts";

/** A state in maps, by lower-case hex. */
interface MemoryAccount {
  record: AccountRecord;
  readonly storage: Map<Hex, Uint8Array>;
}
type MemoryState = Map<Hex, MemoryAccount>;

/** Runs one case. @returns the error; `undefined`: it passed */
export function runStateTestCase(engine: EvmEngine, testCase: StateTestCase, note: NoteUncompared): string | undefined {
  const { test, fork, expected } = testCase;
  const codes = new Map<Hex, Uint8Array>();
  const state = stateOf(test, codes);
  const coinbase = hexToBytes(test.env.currentCoinbase!);
  const result = execute(engine, testCase, readerOf(state, codes), coinbase, (changes) => applyChanges(state, changes));

  // The tests were generated with a block reward of 0, which before EIP-161 creates the miner's account, unless the transaction is refused.
  const coinbaseHex = bytesToHex(coinbase);
  if (result?.kind === "included" && !forkRules(fork).clearsEmptyAccounts && !state.has(coinbaseHex))
    state.set(coinbaseHex, EMPTY_ACCOUNT());

  const wrongRefusal = compareRefusal(expected.expectException, result, note);
  if (wrongRefusal !== undefined) return wrongRefusal;
  const root = bytesToHex(stateRoot(state));
  if (root !== expected.hash) return `state root ${root}, expected ${expected.hash}${describe(result)}`;
  const logs = bytesToHex(logsHash(result?.kind === "included" ? result.outcome.logs : []));
  return logs === expected.logs ? undefined : `logs hash ${logs}, expected ${expected.logs}`;
}

const EMPTY_ACCOUNT = (): MemoryAccount => ({ record: { nonce: 0n, balance: 0n, codeHash: EMPTY_KECCAK }, storage: new Map() });

function describe(result: TransactionResult | undefined): string {
  if (result === undefined || result.kind === "rejected") return "";
  const { gasUsed, halt } = result.outcome;
  return ` (gas used ${gasUsed}${halt === undefined ? "" : `, ${halt}`})`;
}

/** `undefined`: the transaction cannot be encoded, so nothing was executed */
function execute(
  engine: EvmEngine,
  { test, fork, chainId, blobParams, transaction, sender }: StateTestCase,
  reader: StateReader,
  coinbase: Uint8Array,
  onChanges: (changes: StateChanges) => void,
): TransactionResult | undefined {
  if (transaction === undefined) return undefined;
  const { env } = test;
  const number = (name: string): bigint => testNumber(env[name] ?? "0x0")!;
  const rules = { ...forkRules(fork), chainId, blobParams, isDaoForkBlock: false };
  const block = engine.beginBlock(
    rules,
    {
      number: number("currentNumber"),
      timestamp: number("currentTimestamp"),
      beneficiary: coinbase,
      gasLimit: number("currentGasLimit"),
      baseFeePerGas: rules.hasBaseFee ? number("currentBaseFee") : 0n,
      difficulty: number("currentDifficulty"),
      prevRandao: testBytes(env.currentRandom ?? "0x0"),
      blobBaseFee:
        rules.blobParams === undefined ? 1n : blobBaseFee(number("currentExcessBlobGas"), rules.blobParams.baseFeeUpdateFraction),
    },
    reader,
  );
  const result = block.applyTransaction(transaction, { sender, encoded: new Uint8Array(0) });
  onChanges(block.changes());
  return result;
}

function stateOf(test: StateTest, codes: Map<Hex, Uint8Array>): MemoryState {
  const state: MemoryState = new Map();
  for (const [addressHex, account] of Object.entries(test.pre)) {
    const code = hexToBytes(account.code);
    const codeHash = code.length === 0 ? EMPTY_KECCAK : keccak256(code);
    codes.set(bytesToHex(codeHash), code);
    const storage = new Map<Hex, Uint8Array>();
    for (const [slot, value] of Object.entries(account.storage)) {
      const bytes = testBytes(value);
      if (!isZeroBytes(bytes)) storage.set(bytesToHex(testBytes(slot)), bytes);
    }
    const record = { nonce: testNumber(account.nonce)!, balance: testNumber(account.balance)!, codeHash };
    state.set(bytesToHex(hexToBytes(addressHex)), { record, storage });
  }
  return state;
}

function readerOf(state: MemoryState, codes: ReadonlyMap<Hex, Uint8Array>): StateReader {
  return {
    readAccount: (address) => state.get(bytesToHex(address))?.record,
    readStorage: (address, slot) => state.get(bytesToHex(address))?.storage.get(bytesToHex(slot)),
    hasStorage: (address) => (state.get(bytesToHex(address))?.storage.size ?? 0) > 0,
    readCode(codeHash) {
      const code = codes.get(bytesToHex(codeHash));
      if (code === undefined) throw new Error(`no code ${bytesToHex(codeHash)}`);
      return code;
    },
    // the tests define the hash of a block as the hash of its number in decimal digits
    readBlockHash: (number) => keccak256(asciiToBytes(number.toString())),
  };
}

function applyChanges(state: MemoryState, { accounts }: StateChanges): void {
  for (const { address, after, storageCleared, storage } of accounts) {
    const addressHex = bytesToHex(address);
    if (after === undefined) {
      state.delete(addressHex);
      continue;
    }
    const slots = storageCleared ? new Map<Hex, Uint8Array>() : (state.get(addressHex)?.storage ?? new Map<Hex, Uint8Array>());
    for (const { slot, after: value } of storage) {
      if (isZeroBytes(value)) slots.delete(bytesToHex(slot));
      else slots.set(bytesToHex(slot), value);
    }
    state.set(addressHex, { record: after, storage: slots });
  }
}

function stateRoot(state: MemoryState): Uint8Array {
  return rootOf(
    [...state].map(([addressHex, { record, storage }]) => {
      const storageRoot = rootOf(
        [...storage].map(([slot, value]) => ({ key: keccak256(hexToBytes(slot)), value: encodeStorageValue(value) })),
      );
      return { key: keccak256(hexToBytes(addressHex)), value: encodeAccount({ ...record, storageRoot }) };
    }),
  );
}

function rootOf(leaves: { key: Uint8Array; value: Uint8Array }[]): Uint8Array {
  const builder = new SortedTrieBuilder();
  for (const { key, value } of leaves.sort((a, b) => compareBytes(a.key, b.key))) builder.add(key, value);
  return builder.finish();
}

const logsHash = (logs: readonly Log[]): Uint8Array =>
  keccak256(encodeRlp(logs.map(({ address, topics, data }) => [address, [...topics], data])));

/** A rejection for a reason other than the expected one is also a failure. */
function compareRefusal(
  expectException: string | undefined,
  result: TransactionResult | undefined,
  note: NoteUncompared,
): string | undefined {
  const refusal = result === undefined ? "not encodable" : result.kind === "rejected" ? result.reason : undefined;
  if (expectException === undefined) return refusal === undefined ? undefined : `refused (${refusal}), expected to be executed`;
  if (refusal === undefined) return `executed, expected ${expectException}`;
  return wrongRefusal(expectException, refusal, note);
}
