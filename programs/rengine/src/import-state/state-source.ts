import { rmSync } from "node:fs";
import type { GenesisState, RowCounts, SortedState } from "@rnode/chain";
import { isCodedError } from "@rnode/primitives";
import { type ChainConfig, hashHeader } from "@rnode/protocol";
import { openRethData } from "@rnode/reth-data";
import type { FetchedRows } from "@rnode/sync";
import { unpacked } from "../setup/packed-text.ts";
import type { Blocks, FirstBlock } from "./block-source.ts";
import { describing } from "./describing.ts";
import { readStateLines } from "./state-lines.ts";
import type { SharedSource } from "./threaded-run.ts";

interface ReadLinesOptions {
  /** for temporary files */
  readonly folder: string;
  /** `share` of the text that is read; `undefined` if its size is not known */
  readonly onProgress: (counts: RowCounts, share: number | undefined) => void;
}

/** A state of another client. It is not trusted: its rows must have the root of a block that the operator names. */
export type StateSource = (SortedSource | LinesSource | PeersSource) & {
  /** for people */
  readonly name: string;
  /** Removes what was made of it in the folder of the database. */
  discard(): void;
  close(): void | Promise<void>;
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
  /** for a thread; `undefined`: it cannot be read there */
  readonly shared?: SharedSource | undefined;
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

/** Peers that serve recent states. */
export interface PeersSource {
  readonly kind: "peers";
  /** Connects to them. It comes before all else. */
  join(config: ChainConfig, first: FirstBlock): Promise<void>;
  readonly blocks: Pick<Blocks, "blockOf" | "hasReceipts">;
  /**
   * Fetches what is missing of the rows.
   *
   * @param root gives that of the wanted state, which can change meanwhile
   * @returns the rows of the last one
   * @throws {UserError}
   */
  read(
    root: () => Uint8Array,
    onProgress: (fetched: FetchedRows) => void,
  ): Promise<Pick<SortedSource, "state" | "rows"> & { readonly root: Uint8Array }>;
}

/** Lines of JSON, packed or not. */
export function stateLines(name: string, sizeBytes: number | undefined, chunks: AsyncIterable<Uint8Array>): StateSource {
  let readBytes = 0;
  async function* counted(): AsyncGenerator<Uint8Array> {
    for await (const chunk of chunks) {
      readBytes += chunk.length;
      yield chunk;
    }
  }
  return {
    kind: "lines",
    name,
    sizeBytes,
    isPacked: /\.(gz|zst|lz4)$/.test(name),
    readInto: (state, { folder, onProgress }) =>
      readStateLines(unpacked(name, counted()), state, {
        source: name,
        folder,
        onProgress: (counts) => onProgress(counts, sizeBytes && readBytes / sizeBytes),
      }),
    discard: () => {},
    close: () => {},
  };
}

/** @param unpacked from an archive of this name; it is removed when it is of no more use. @throws {UserError} */
export function rethState(folder: string, unpacked?: string): StateSource {
  const discard = (): void => {
    if (unpacked !== undefined) rmSync(folder, { recursive: true, force: true });
  };
  const data = describing(() => {
    try {
      return openRethData(folder);
    } catch (error) {
      discard();
      throw error;
    }
  });
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
    name: unpacked ?? folder,
    state: data,
    rows: counts,
    blockHash: head.hash,
    hashOf: (number) => describing(() => hashOf(number)),
    shared: { kind: "reth", folder },
    discard,
    close: () => data.close(),
  };
}
