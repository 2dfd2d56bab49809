import { storedGenesisHash } from "@rnode/chain";
import { bytesToHex } from "@rnode/primitives";
import { type CommandIo, UserError } from "@rnode/program";
import type { SnapshotRequest } from "@rnode/snapshot";
import type { ChainDatabase } from "@rnode/storage";
import { loadChainSpec } from "../setup/chain-spec.ts";
import { openExistingDatabase } from "../setup/database.ts";

export interface SourceOptions {
  readonly chain: string;
  readonly registry?: string | undefined;
  readonly datadir: string;
  readonly block?: string | undefined;
  readonly blocks?: number | undefined;
}

/** A database that is only read, and what is wanted of it. @throws {UserError} */
export async function openSource(
  { chain, registry, datadir, block, blocks }: SourceOptions,
  io: CommandIo,
): Promise<{ readonly store: ChainDatabase; readonly request: SnapshotRequest }> {
  const { config, network } = await loadChainSpec({ chain, registry });
  const store = openExistingDatabase(datadir, { readOnly: true });
  try {
    const genesisHash = storedGenesisHash(store);
    if (genesisHash === undefined) throw new UserError(`${datadir}: the database is empty`);
    if (network !== undefined && network.genesis.l2.hash !== bytesToHex(genesisHash)) {
      throw new UserError(
        `the database begins with block ${bytesToHex(genesisHash)}, but ${chain} begins with ${network.genesis.l2.hash}`,
      );
    }
    const request: SnapshotRequest = {
      config,
      genesisHash,
      blockNumber: block === undefined ? undefined : blockNumberOf(store, block),
      blocks,
      onProgress: ({ accounts, slots, doneRatio }) =>
        io.progress(`${Math.floor(100 * doneRatio)} %, ${accounts} accounts, ${slots} slots`),
    };
    return { store, request };
  } catch (error) {
    await store.close();
    throw error;
  }
}

function blockNumberOf(store: ChainDatabase, block: string): number {
  if (/^\d+$/.test(block)) return Number(block);
  const found = block === "latest" ? store.head() : block === "safe" || block === "finalized" ? store.label(block) : undefined;
  if (found !== undefined) return found.number;
  if (block === "safe" || block === "finalized") throw new UserError(`--block: the database has no ${block} block yet`);
  throw new UserError(`--block: "${block}" is neither a block number nor latest, safe or finalized`);
}
