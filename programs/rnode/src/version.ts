import { versionOf } from "@rnode/program";

/** `v` followed by the package's version. */
export const VERSION = versionOf(import.meta.url);
