import type { ChangeRecords } from "./change-records.ts";
import type { AccountChange } from "./state.ts";

/** The net effect of a block (or of any sequence of transactions): only what differs. */
export interface StateChanges {
  readonly accounts: readonly AccountChange[];
  /** bytecode that was deployed: hash and bytes */
  readonly codes: readonly { readonly codeHash: Uint8Array; readonly code: Uint8Array }[];
  /** PERF: the same as `accounts`, but as bytes: reading these does not create the objects. If omitted, there are only objects */
  readonly records?: ChangeRecords;
}
