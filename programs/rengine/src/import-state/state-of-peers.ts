import { rmSync } from "node:fs";
import { join } from "node:path";
import type { BlockPeers } from "@rnode/devp2p";
import type { Logger } from "@rnode/observe";
import { type Clock, isCodedError } from "@rnode/primitives";
import { UserError } from "@rnode/program";
import { KeptState, StateDownload } from "@rnode/sync";
import type { PeersSource, StateSource } from "./state-source.ts";

/** Within the folder of the database. */
export const ROWS_FOLDER = "state.partial";

export interface StateOfPeersDeps {
  readonly datadir: string;
  readonly peers: () => BlockPeers;
  readonly clock: Clock;
  readonly log: Logger;
  readonly signal?: AbortSignal | undefined;
}

/** Fetches the rows of a state from peers, and keeps them in the data folder until they are discarded. */
export function stateOfPeers({
  datadir,
  peers,
  ...deps
}: StateOfPeersDeps): Pick<PeersSource, "read"> & Pick<StateSource, "name" | "discard"> & { close(): Promise<void> } {
  const folder = join(datadir, ROWS_FOLDER);
  let kept: KeptState | undefined;
  let isUseless = false;
  return {
    name: "the peers",
    async read(root, onProgress) {
      kept = KeptState.open(folder);
      const download = new StateDownload(root(), kept, { ...deps, peers: peers(), root, onProgress });
      const { root: last, ...rows } = await download.run().catch((cause: unknown) => {
        if (!isCodedError(cause, "sync/no-state")) throw cause;
        throw new UserError(
          `no peer gives the state of the block: ${String(cause.data.reason)}. Peers have the states of the last 128 blocks: take the hash of a newer block`,
          { cause },
        );
      });
      return { state: kept.sorted(), rows, root: last };
    },
    discard: () => {
      isUseless = true;
    },
    async close() {
      await kept?.close();
      if (isUseless) rmSync(folder, { recursive: true, force: true });
    },
  };
}
