import { TABLES } from "@rnode/storage";

/** Tables with old states. The row of an account or a slot has the last blocks that changed it. */
export const HISTORY_TABLES: readonly string[] = Object.entries(TABLES)
  .filter(([, { growsWith, history }]) => history === "state" || growsWith.includes("account") || growsWith.includes("slot"))
  .map(([name]) => name);
