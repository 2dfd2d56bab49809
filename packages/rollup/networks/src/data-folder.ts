import { resolve } from "node:path";

/** Within the data folder: where the files of network upgrades are kept. */
export const UPGRADES_FOLDER = "upgrades";
/** Within the data folder: the secret that an execution client and a rollup node share. */
export const JWT_FILE = "jwt.hex";

/**
 * The data folder of a chain if none is named: the same for the execution client and the rollup node, so that both find the secret there. In the
 * working directory, as the other files that a rollup node keeps.
 */
export const defaultDataFolder = (l2ChainId: bigint): string => resolve("rnode_data", String(l2ChainId));
