// Bin files load this module before the program itself, so it imports next to nothing.
import { openSync } from "node:fs";

/** The systems' default mask. */
const DEFAULT_MASK = 0o022;
const OWNER_ONLY = 0o077;
const NOT_OTHERS = 0o007;

/** Stores the mask from the process's start. Bin files and the programs have separate copies of this module. */
const GIVEN_MASK = Symbol.for("rnode.given-umask");
const given = process as unknown as { [GIVEN_MASK]?: number };

/**
 * From now on, only the owner can access files and sockets that the process and its children create: databases, journals and logs
 * contain keys' names, peers and transactions that are not public yet. If the operator has chosen a mask, its group permissions
 * are kept.
 */
export function hideFiles(): void {
  const mask = process.umask(OWNER_ONLY);
  given[GIVEN_MASK] = mask;
  if (mask !== DEFAULT_MASK) process.umask(mask | NOT_OTHERS);
}

/** Opens a file that is made for others (an export, a snapshot), with the mode that the operator's own mask gives. */
export function openForOthers(path: string): number {
  const mask = given[GIVEN_MASK];
  if (mask === undefined) return openSync(path, "w");
  const hiding = process.umask(mask);
  try {
    return openSync(path, "w");
  } finally {
    process.umask(hiding);
  }
}
