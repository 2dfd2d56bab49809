import { join } from "node:path";
import { parseEnode } from "@rnode/devp2p";
import { silentLogger } from "@rnode/observe";
import { isCodedError } from "@rnode/primitives";
import { systemClock, UserError } from "@rnode/program";
import type { ChainConfig } from "@rnode/protocol";
import { PeerBlocks } from "./peer-blocks.ts";
import { joinPeers, type PeerNetwork } from "./peer-network.ts";
import { stateOfPeers } from "./state-of-peers.ts";
import type { StateSource } from "./state-source.ts";

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
  const state = stateOfPeers({ datadir, peers: () => joined(network), clock: systemClock, log: silentLogger });
  return {
    ...state,
    kind: "peers",
    async join(config: ChainConfig, first) {
      network = await joinPeers(config, first, enodes, join(datadir, NETWORK_FOLDER));
      blocks = new PeerBlocks(config, { peers: network, clock: systemClock });
    },
    blocks: { hasReceipts: false, blockOf: (hash) => joined(blocks).blockOf(hash) },
    async close() {
      await network?.close();
      await state.close();
    },
  };
}
