import { gunzipSync, gzipSync } from "node:zlib";
import { type ApiMethods, method } from "@rnode/eth-api";
import { anyJson, dataShape, optionalParam, param, RpcError, SERVER_ERROR } from "@rnode/jsonrpc";
import {
  bytesToHex,
  EMPTY_KECCAK,
  equalBytes,
  type Hex,
  hexToBytes,
  hexToFixedBytes,
  isZeroBytes,
  padBytesLeft,
  toQuantity,
} from "@rnode/primitives";
import { exactTimestamp } from "@rnode/protocol";
import type { ChainDatabase } from "@rnode/storage";
import type { DevChainAccess } from "../block-maker.ts";
import type { DevChain } from "../dev-chain.ts";
import { DevError } from "../dev-error.ts";
import type { StateEdits } from "../state-edits.ts";
import { DONE } from "./shapes.ts";

/** A dump is made and read in one go. */
const MAX_DUMP_BYTES = 256 * 1024 * 1024;

interface DumpedAccount {
  readonly nonce: number;
  readonly balance: Hex;
  readonly code: Hex;
  readonly storage: Readonly<Record<Hex, Hex>>;
}

export type DumpSource = Pick<ChainDatabase, "head" | "stateRows" | "readPreimage">;

/** The state as one text, gzipped JSON in hex: the accounts as anvil writes them. */
export function dumpMethods(
  dev: DevChain,
  chain: DevChainAccess,
  store: DumpSource,
  editsOf: () => StateEdits | undefined,
): ApiMethods {
  return {
    anvil_dumpState: method({
      runs: "writer",
      result: { name: "state", schema: dataShape.schema },
      params: [optionalParam("preserveHistoricalStates", anyJson)],
      summary: "All accounts after the latest block, for anvil_loadState.",
      handler: () => {
        const { header } = dev.maker.head;
        const accounts = dumpedAccounts(chain, store, editsOf());
        const dump = { block: { number: toQuantity(header.number), timestamp: toQuantity(exactTimestamp(header)) }, accounts };
        return bytesToHex(gzipSync(JSON.stringify(dump)));
      },
    }),
    anvil_loadState: method({
      runs: "writer",
      result: DONE,
      params: [param("state", dataShape)],
      summary: "Sets all accounts of a dump, of ours or of anvil's, in the state after the latest block; blocks are not loaded.",
      handler: ([state]) => {
        for (const [address, { nonce, balance, code, storage }] of Object.entries(readDump(state))) {
          const words = Object.entries(storage).map(([slot, word]) => [bytesToHex(wordOf(slot)), wordOf(word)] as const);
          dev.edit(hexToFixedBytes(address, 20), {
            nonce: BigInt(nonce),
            balance: BigInt(balance),
            code: hexToBytes(code),
            storage: new Map(words),
          });
        }
        return true;
      },
    }),
  };
}

const wordOf = (hex: string): Uint8Array => padBytesLeft(hexToBytes(hex.length % 2 === 0 ? hex : `0x0${hex.slice(2)}`), 32);

function dumpedAccounts(chain: DevChainAccess, store: DumpSource, edits: StateEdits = new Map()): Record<Hex, DumpedAccount> {
  const state = chain.stateAt(chain.head())!;
  const accounts: Record<Hex, DumpedAccount & { readonly storage: Record<Hex, Hex> }> = {};
  let bytes = 0;
  const grow = (size: number): void => {
    bytes += size;
    if (bytes > MAX_DUMP_BYTES)
      throw new RpcError(SERVER_ERROR, `the state has more than ${MAX_DUMP_BYTES} bytes: keep --datadir instead`);
  };
  const addAccount = (address: Hex): void => {
    const account = state.readAccount(hexToBytes(address));
    if (account === undefined) return;
    const code = equalBytes(account.codeHash, EMPTY_KECCAK) ? "0x" : bytesToHex(state.readCode(account.codeHash));
    accounts[address] = { nonce: Number(account.nonce), balance: toQuantity(account.balance), code, storage: {} };
    grow(200 + code.length);
  };
  const setSlot = (address: Hex, slot: Hex, word: Uint8Array): void => {
    const storage = accounts[address]?.storage;
    if (storage === undefined) return;
    if (isZeroBytes(word)) delete storage[slot];
    else storage[slot] = bytesToHex(word);
    grow(140);
  };
  let address: Hex = "0x";
  for (const row of store.stateRows(store.head()!)) {
    const key = bytesToHex(preimageOf(store, row.hash));
    if (row.kind === "account") addAccount((address = key));
    else setSlot(address, key, padBytesLeft(row.value, 32));
  }
  for (const [edited, { storage = [] }] of edits) {
    if (accounts[edited] === undefined) addAccount(edited);
    for (const [slot, word] of storage) setSlot(edited, slot, word);
  }
  return accounts;
}

function preimageOf(store: DumpSource, hash: Uint8Array): Uint8Array {
  const key = store.readPreimage(hash);
  if (key !== undefined) return key;
  throw new RpcError(
    SERVER_ERROR,
    `the address or slot with the hash ${bytesToHex(hash)} is unknown: make the database again with --dev or --preimages`,
  );
}

/** @throws {DevError} dev/bad-request */
function readDump(state: Uint8Array): Readonly<Record<string, DumpedAccount>> {
  const fail = (reason: string): DevError => new DevError("dev/bad-request", { reason: `state: ${reason}` });
  let text: string;
  try {
    const isZipped = state[0] === 0x1f && state[1] === 0x8b;
    text = Buffer.from(isZipped ? gunzipSync(state, { maxOutputLength: MAX_DUMP_BYTES }) : state).toString("utf8");
  } catch {
    throw fail("cannot be unzipped");
  }
  let dump: unknown;
  try {
    dump = JSON.parse(text);
  } catch {
    throw fail("not JSON");
  }
  const { accounts } = (dump ?? {}) as { readonly accounts?: unknown };
  if (typeof accounts !== "object" || accounts === null) throw fail("has no accounts");
  for (const [address, account] of Object.entries(accounts as Record<string, Partial<DumpedAccount> | null>)) {
    const isHex = (value: unknown): boolean => typeof value === "string" && /^0x[0-9a-fA-F]*$/.test(value);
    const storage = account?.storage;
    const isWhole =
      /^0x[0-9a-fA-F]{40}$/.test(address) &&
      Number.isSafeInteger(Number(account?.nonce)) &&
      isHex(account?.balance) &&
      isHex(account?.code) &&
      typeof storage === "object" &&
      Object.entries(storage).every((entry) => entry.every((hex) => isHex(hex) && hex.length <= 66));
    if (!isWhole) throw fail(`account ${address} lacks nonce, balance, code or storage`);
  }
  return accounts as Readonly<Record<string, DumpedAccount>>;
}
