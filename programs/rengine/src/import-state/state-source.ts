import { existsSync, statSync } from "node:fs";
import type { GenesisState } from "@rnode/chain";
import { bytesToHex, isCodedError, padBytesLeft } from "@rnode/primitives";
import { UserError } from "@rnode/program";
import { openRethData, type RethData } from "@rnode/reth-data";
import { fileChunks, unpacked } from "../setup/packed-text.ts";
import { readStateLines, type StateCounts } from "./state-lines.ts";

const STANDARD_INPUT = "-";
const REPORT_ROWS = 50_000;

interface ReadStateOptions {
  /** for temporary files */
  readonly folder: string;
  readonly onProgress: (counts: StateCounts) => void;
}

/** A state of another client. Nothing that it says is believed: its rows must have the root of a block that the operator names. */
export interface StateSource {
  /** for people */
  readonly name: string;
  /** hash of the block that it says it is after; `undefined`: it names none */
  readonly blockHash: Uint8Array | undefined;
  /** @returns the number of rows, and the state root that it names, if any. @throws {UserError} */
  readInto(state: GenesisState, options: ReadStateOptions): Promise<StateCounts & { readonly root?: Uint8Array | undefined }>;
  close(): void;
}

/** Opens what `--from` names: `-`, a file with lines of JSON, or a data directory of op-reth. @throws {UserError} */
export function openStateSource(from: string): StateSource {
  if (from === STANDARD_INPUT) return stateLines("the standard input", process.stdin as AsyncIterable<Uint8Array>);
  if (!existsSync(from)) throw new UserError(`--from: ${from}: no such file`);
  return statSync(from).isDirectory() ? rethState(from) : stateLines(from, fileChunks(from));
}

const stateLines = (name: string, chunks: AsyncIterable<Uint8Array>): StateSource => ({
  name,
  blockHash: undefined,
  readInto: (state, options) => readStateLines(unpacked(name, chunks), state, { source: name, ...options }),
  close: () => {},
});

function rethState(folder: string): StateSource {
  const data = describing(() => openRethData(folder));
  return {
    name: folder,
    blockHash: data.head.hash,
    readInto: async (state, { onProgress }) => describing(() => readRethState(data, state, onProgress)),
    close: () => data.close(),
  };
}

function readRethState(data: RethData, state: GenesisState, onProgress: ReadStateOptions["onProgress"]): StateCounts {
  const counts = { accounts: 0, slots: 0 };
  const count = (what: "accounts" | "slots"): void => {
    counts[what]++;
    if ((counts.accounts + counts.slots) % REPORT_ROWS === 0) onProgress(counts);
  };
  for (const { addressHash, nonce, balance, codeHash } of data.accounts()) {
    if (!state.hasCode(codeHash)) {
      const code = data.code(codeHash);
      if (code === undefined)
        throw new UserError(`the code ${bytesToHex(codeHash)} of the account with the hash ${bytesToHex(addressHash)} is missing`);
      state.addCode(code);
    }
    state.addHashedAccount(addressHash, { nonce, balance, codeHash });
    count("accounts");
  }
  for (const { addressHash, slotHash, value } of data.slots()) {
    state.addHashedSlot(addressHash, slotHash, padBytesLeft(value, 32));
    count("slots");
  }
  return counts;
}

function describing<T>(read: () => T): T {
  try {
    return read();
  } catch (cause) {
    if (!isCodedError(cause, "reth-data/")) throw cause;
    throw new UserError(`--from: ${cause.message}`, { cause });
  }
}
