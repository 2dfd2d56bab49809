import { totalmem } from "node:os";

/**
 * How the system reads pages of the data file that are not in memory. Reading ahead, it brings in what lies around a page, megabytes on some
 * disks. That fills the memory quickly with a file that fits in, and helps whoever goes through the file in its order; with a
 * file that does not fit, it drives out pages that are needed for pages that nobody asked for.
 */
export interface PageReading {
  readonly readsAhead: boolean;
  readonly because: "file is small" | "file fits into memory" | "file is large for the memory" | "file is read in its order";
  /** of the file, when it was opened */
  readonly fileBytes: number;
  /** what there is for everything: the machine's memory or what the process is limited to */
  readonly memoryBytes: number;
}

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
