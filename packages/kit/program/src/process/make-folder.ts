import { mkdirSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { isSystemError } from "@rnode/primitives";

/**
 * Makes a folder and those above it that do not exist. Unlike the recursive mode of `mkdirSync`, it ends where there can be no folders,
 * such as in /proc.
 *
 * @throws the file system's error, which names the folder that could not be made
 */
export function makeFolder(path: string, { mode = 0o777 }: { readonly mode?: number } = {}): void {
  const missing: string[] = [];
  for (let at = path; statSync(at, { throwIfNoEntry: false }) === undefined; at = dirname(at)) missing.push(at);
  for (const folder of missing.reverse()) {
    try {
      mkdirSync(folder, { mode });
    } catch (error) {
      if (!isSystemError(error, "EEXIST")) throw error; // else another program has made it meanwhile
    }
  }
  if (!statSync(path).isDirectory()) mkdirSync(path); // says that a file is in the way
}
