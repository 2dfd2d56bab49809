import { rmSync } from "node:fs";
import { join } from "node:path";
import { parseEnode } from "@rnode/devp2p";
import { silentLogger } from "@rnode/observe";
import { isCodedError } from "@rnode/primitives";
import { systemClock, UserError } from "@rnode/program";
import type { ChainConfig } from "@rnode/protocol";
import { KeptState, StateDownload } from "@rnode/sync";
import { PeerBlocks } from "./peer-blocks.ts";
import { joinPeers, type PeerNetwork } from "./peer-network.ts";
import type { PeersSource, StateSource } from "./state-source.ts";

/** Within the folder of the database. */
const NETWORK_FOLDER = "peers.partial";
const ROWS_FOLDER = "state.partial";

export const isPeers = (from: string): boolean => from.startsWith("enode://");

/** A state, and the blocks up to it, of peers. @param from their addresses, comma-separated. @throws {UserError} */
export function peersState(from: string, datadir: string): StateSource {
  const enodes = from.split(",");
  try {
    for (const enode of enodes) parseEnode(enode);
  } catch (cause) {
    if (!isCodedError(cause, "devp2p/")) throw cause;
    throw new UserError(`--from: ${cause.message}`, { cause });
  }
  const folder = join(datadir, ROWS_FOLDER);
  let network: PeerNetwork | undefined;
  let blocks: PeerBlocks | undefined;
  let kept: KeptState | undefined;
  let isUseless = false;
  const joined = <T>(part: T | undefined): T => {
    if (part === undefined) throw new TypeError("join() comes first");
    return part;
  };
  const source: PeersSource = {
    kind: "peers",
    async join(config: ChainConfig, first) {
      network = await joinPeers(config, first, enodes, join(datadir, NETWORK_FOLDER));
      blocks = new PeerBlocks(config, network, systemClock);
    },
    blocks: { hasReceipts: false, blockOf: (hash) => joined(blocks).blockOf(hash) },
    async read(root, onProgress) {
      kept = KeptState.open(folder);
      const deps = { peers: joined(network), clock: systemClock, log: silentLogger, onProgress };
      const rows = await new StateDownload(root, kept, deps).run().catch((cause: unknown) => {
        if (!isCodedError(cause, "sync/no-state")) throw cause;
        throw new UserError(
          `--from: no peer gives the state of the block: ${String(cause.data.reason)}. Peers have the states of the last 128 blocks: take the hash of a newer block`,
          { cause },
        );
      });
      return { state: kept.sorted(), rows };
    },
  };
  return {
    ...source,
    name: "the peers",
    discard: () => {
      isUseless = true;
    },
    async close() {
      await network?.close();
      await kept?.close();
      if (isUseless) rmSync(folder, { recursive: true, force: true });
    },
  };
}
