import { join } from "node:path";
import type { GenesisState, RowCounts } from "@rnode/chain";
import { parseEnode } from "@rnode/devp2p";
import { silentLogger } from "@rnode/observe";
import { isCodedError } from "@rnode/primitives";
import { systemClock, UserError } from "@rnode/program";
import type { ChainConfig } from "@rnode/protocol";
import { StateDownload } from "@rnode/sync";
import { PeerBlocks } from "./peer-blocks.ts";
import { joinPeers, type PeerNetwork } from "./peer-network.ts";
import type { PeersSource, StateSource } from "./state-source.ts";

/** Within the folder of the database. */
const NETWORK_FOLDER = "peers.partial";

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
  let network: PeerNetwork | undefined;
  let blocks: PeerBlocks | undefined;
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
    readInto: (state, root, onProgress) => download(joined(network), state, root, onProgress),
  };
  return {
    ...source,
    name: enodes.length === 1 ? "the peer" : `${enodes.length} peers`,
    discard: () => {},
    close: () => network?.close() ?? Promise.resolve(),
  };
}

async function download(
  peers: PeerNetwork,
  state: GenesisState,
  root: Uint8Array,
  onProgress: (counts: RowCounts) => void,
): Promise<RowCounts> {
  const sink = {
    addHashedAccount: state.addHashedAccount.bind(state),
    addHashedSlot: state.addHashedSlot.bind(state),
    addCode: (code: Uint8Array): void => void state.addCode(code),
  };
  try {
    return await new StateDownload(root, sink, { peers, clock: systemClock, log: silentLogger, onProgress }).run();
  } catch (cause) {
    if (!isCodedError(cause, "sync/no-state")) throw cause;
    throw new UserError(
      `--from: no peer gives the state of the block: ${String(cause.data.reason)}. Peers have the states of the last 128 blocks: take the hash of a newer block`,
      { cause },
    );
  }
}
