import { totalmem } from "node:os";
import type { PageReading } from "../api.ts";

/** A smaller file is read in a moment either way, and may outgrow the memory before it is opened again. */
const SMALL_FILE_BYTES = 64 * 2 ** 20;
/** The rest is for programs, and for the growth of the file until it is opened again. */
const PART_OF_MEMORY = 1 / 4;

/** @param inOrder the file is opened to be read from one end to the other */
export function choosePageReading(fileBytes: number, memoryBytes: number, inOrder: boolean): PageReading {
  const sizes = { fileBytes, memoryBytes };
  if (inOrder) return { readsAhead: true, because: "file is read in its order", ...sizes };
  if (fileBytes < SMALL_FILE_BYTES) return { readsAhead: false, because: "file is small", ...sizes };
  if (fileBytes > memoryBytes * PART_OF_MEMORY) return { readsAhead: false, because: "file is large for the memory", ...sizes };
  return { readsAhead: true, because: "file fits into memory", ...sizes };
}

/** Memory for this process and the system's cache of its files, subject to the limit of a container. */
export function memoryBytesOfProcess(): number {
  const limit = process.constrainedMemory?.() ?? 0; // 0, or more than the machine has: no limit
  return limit > 0 ? Math.min(totalmem(), limit) : totalmem();
}

/** A description for the log, or for a person. */
export function describePageReading({ readsAhead, because, fileBytes, memoryBytes }: PageReading): string {
  const how = readsAhead ? "pages are read with what lies around them" : "pages are read one by one";
  return `${how}: the ${because} (${mebibytes(fileBytes)} of ${mebibytes(memoryBytes)})`;
}

const mebibytes = (bytes: number): string => `${Math.round(bytes / 2 ** 20)} MiB`;
