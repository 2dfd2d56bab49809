import type { Subcommands } from "@rnode/program";

/** Subcommands of `rengine`. */
export const subcommands: Subcommands = {
  init: async () => (await import("./init.ts")).init,
  import: async () => (await import("./import.ts")).importBlocks,
  "import-state": async () => (await import("./import-state.ts")).importState,
  export: async () => (await import("./export.ts")).exportBlocks,
  stream: async () => (await import("./stream.ts")).streamBlocks,
  stateless: async () => (await import("./stateless.ts")).stateless,
  statetest: async () => (await import("./statetest.ts")).statetest,
  enginetest: async () => (await import("./enginetest.ts")).enginetest,
  snapshot: async () => (await import("./snapshot.ts")).snapshot,
  db: async () => (await import("./db.ts")).db,
};
