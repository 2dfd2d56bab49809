import { existsSync, statSync } from "node:fs";
import type { GenesisState, RowCounts, SortedState } from "@rnode/chain";
import { isCodedError } from "@rnode/primitives";
import { UserError } from "@rnode/program";
import { hashHeader } from "@rnode/protocol";
import { openRethData } from "@rnode/reth-data";
import { fileChunks, unpacked } from "../setup/packed-text.ts";
import { readStateLines } from "./state-lines.ts";

const STANDARD_INPUT = "-";

interface ReadLinesOptions {
  /** for temporary files */
  readonly folder: string;
  readonly onProgress: (counts: RowCounts) => void;
}

/** A state of another client. It is not trusted: its rows must have the root of a block that the operator names. */
export type StateSource = (SortedSource | LinesSource) & {
  /** for people */
  readonly name: string;
  close(): void;
};

/** The database of another client. */
export interface SortedSource {
  readonly kind: "sorted";
  readonly state: SortedState;
  readonly rows: RowCounts;
  /** hash of the block that it says its state is after */
  readonly blockHash: Uint8Array;
  /** hash of a block that it has; `undefined` if it has none with this number */
  hashOf(number: number): Uint8Array | undefined;
}

/** Lines of JSON, in any order. */
export interface LinesSource {
  readonly kind: "lines";
  /** of the file; `undefined` if it is unknown */
  readonly sizeBytes: number | undefined;
  readonly isPacked: boolean;
  /** @returns the number of rows, and the state root that the lines name, if any. @throws {UserError} */
  readInto(state: GenesisState, options: ReadLinesOptions): Promise<RowCounts & { readonly root?: Uint8Array | undefined }>;
}

/** Opens what `--from` names: `-`, a file with lines of JSON, or a data directory of op-reth. @throws {UserError} */
export function openStateSource(from: string): StateSource {
  if (from === STANDARD_INPUT) return stateLines("the standard input", undefined, process.stdin as AsyncIterable<Uint8Array>);
  if (!existsSync(from)) throw new UserError(`--from: ${from}: no such file`);
  const stat = statSync(from);
  return stat.isDirectory() ? rethState(from) : stateLines(from, stat.size, fileChunks(from));
}

const stateLines = (name: string, sizeBytes: number | undefined, chunks: AsyncIterable<Uint8Array>): StateSource => ({
  kind: "lines",
  name,
  sizeBytes,
  isPacked: /\.(gz|zst)$/.test(name),
  readInto: (state, options) => readStateLines(unpacked(name, chunks), state, { source: name, ...options }),
  close: () => {},
});

function rethState(folder: string): StateSource {
  const data = describing(() => openRethData(folder));
  const hashOf = (number: number): Uint8Array | undefined => {
    try {
      return hashHeader(data.header(number));
    } catch (error) {
      if (isCodedError(error, "reth-data/no-header")) return undefined;
      throw error;
    }
  };
  const { head, counts } = data;
  return {
    kind: "sorted",
    name: folder,
    state: data,
    rows: counts,
    blockHash: head.hash,
    hashOf: (number) => describing(() => hashOf(number)),
    close: () => data.close(),
  };
}

/** Runs `read`, which reads a source. @throws {UserError} in place of the source's errors */
export function describing<T>(read: () => T): T {
  try {
    return read();
  } catch (cause) {
    if (!isCodedError(cause, "reth-data/") && !isCodedError(cause, "chain/incomplete-state")) throw cause;
    throw new UserError(`--from: ${cause.message}`, { cause });
  }
}
