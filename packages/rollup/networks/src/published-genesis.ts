import { NETWORKS_SOURCE } from "@rnode/protocol";
import type { PublishedFile } from "./published-files.ts";

const REGISTRY = "ethereum-optimism/superchain-registry";
/** The state of the registry that the table of networks is of. Networks that came later are on its main branch. */
const REFS = [NETWORKS_SOURCE.commit, "main"] as const;
const MAX_PACKED_BYTES = 32 << 20;
const MAX_DICTIONARY_BYTES = 4 << 20;

/** The genesis of a chain, Zstandard with a dictionary. @param path `<superchain>/<chain>` */
export const publishedGenesis = (path: string): PublishedFile => ({
  repository: REGISTRY,
  refs: REFS,
  path: `superchain/extra/genesis/${path}.json.zst`,
  maxBytes: MAX_PACKED_BYTES,
});

export const PUBLISHED_DICTIONARY: PublishedFile = {
  repository: REGISTRY,
  refs: REFS,
  path: "superchain/extra/dictionary",
  maxBytes: MAX_DICTIONARY_BYTES,
};
