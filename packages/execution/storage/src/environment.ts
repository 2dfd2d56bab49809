/** An LMDB environment for a small database of another package: locked, checked before it is opened, with commits that survive a kill. */
export { Environment } from "./database/environment.ts";
export type { Table } from "./database/table.ts";
