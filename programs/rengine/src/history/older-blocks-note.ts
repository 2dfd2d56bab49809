import { resolve } from "node:path";
import type { ChainDatabase } from "@rnode/storage";
import { isUrl } from "../setup/read-input.ts";

/** Database key for the URL or the file that older blocks come from. */
const KEY = "older-blocks-from";

/** Notes where a node that runs on the database finds older blocks. @param source a URL or a file */
export function noteOlderBlocks(store: Pick<ChainDatabase, "writeMeta">, source: string): void {
  store.writeMeta(KEY, Buffer.from(isUrl(source) ? source : resolve(source)));
}

export function olderBlocksFrom(store: Pick<ChainDatabase, "readMeta">): string | undefined {
  const value = store.readMeta(KEY);
  return value === undefined ? undefined : Buffer.from(value).toString();
}
