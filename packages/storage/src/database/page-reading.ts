import { totalmem } from "node:os";
import type { PageReading } from "../api.ts";

/** A file below it is read in a moment in any way, and may outgrow the memory before it is opened again. */
const SMALL_FILE_BYTES = 64 * 2 ** 20;
/** The rest is left to programs, and to the growth of the file until it is opened again. */
const PART_OF_MEMORY = 1 / 4;

/** @param inOrder whoever opens the file goes through it from one end to the other */
export function choosePageReading(fileBytes: number, memoryBytes: number, inOrder: boolean): PageReading {
  const sizes = { fileBytes, memoryBytes };
  if (inOrder) return { readsAhead: true, because: "file is read in its order", ...sizes };
  if (fileBytes < SMALL_FILE_BYTES) return { readsAhead: false, because: "file is small", ...sizes };
  if (fileBytes > memoryBytes * PART_OF_MEMORY) return { readsAhead: false, because: "file is large for the memory", ...sizes };
  return { readsAhead: true, because: "file fits into memory", ...sizes };
}

/** Memory for this process and what the system caches for it, with the limit of a container. */
export function memoryBytesOfProcess(): number {
  const limit = process.constrainedMemory?.() ?? 0; // 0, or more than there is: no limit
  return limit > 0 ? Math.min(totalmem(), limit) : totalmem();
}

/** For a log or a person. */
export function describePageReading({ readsAhead, because, fileBytes, memoryBytes }: PageReading): string {
  const how = readsAhead ? "pages are read with what lies around them" : "pages are read one by one";
  return `${how}: the ${because} (${mebibytes(fileBytes)} of ${mebibytes(memoryBytes)})`;
}

const mebibytes = (bytes: number): string => `${Math.round(bytes / 2 ** 20)} MiB`;
