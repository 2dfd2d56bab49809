import { type Parser, textOf, UserError } from "@rnode/program";
import type { ChainStoreReader } from "@rnode/storage";

export const numberOrTag: Parser<string> = textOf("number|tag", "a block number, latest, safe or finalized");

/** The number that such an option names. @throws {UserError} */
export function blockNumberOf(store: ChainStoreReader, flag: string, block: string): number {
  if (/^\d+$/.test(block)) return Number(block);
  const found = block === "latest" ? store.head() : block === "safe" || block === "finalized" ? store.label(block) : undefined;
  if (found !== undefined) return found.number;
  if (block === "safe" || block === "finalized") throw new UserError(`${flag}: the database has no ${block} block yet`);
  throw new UserError(`${flag}: "${block}" is neither a block number nor latest, safe or finalized`);
}
