import { storedGenesisHash } from "@rnode/chain";
import { bytesToHex } from "@rnode/primitives";
import { type CommandIo, UserError } from "@rnode/program";
import type { SnapshotRequest } from "@rnode/snapshot";
import type { ChainDatabase } from "@rnode/storage";
import { blockNumberOf } from "../setup/block-option.ts";
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
      blockNumber: block === undefined ? undefined : blockNumberOf(store, "--block", block),
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
