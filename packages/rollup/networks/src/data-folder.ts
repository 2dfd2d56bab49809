import { resolve } from "node:path";

/** Within the data folder: where the files of network upgrades are kept. */
export const UPGRADES_FOLDER = "upgrades";
/** Within the data folder: the secret that an execution client and a rollup node share. */
export const JWT_FILE = "jwt.hex";

/**
 * The default data folder of a chain: the same for the execution client and the rollup node, so both find the secret there. It is
 * in the working directory, like a rollup node's other files.
 */
export const defaultDataFolder = (l2ChainId: bigint): string => resolve("rnode_data", String(l2ChainId));
