import { versionOf } from "@rnode/program";

/** `v` and the package's version. */
export const VERSION = versionOf(import.meta.url);
