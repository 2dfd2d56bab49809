import type { JsonObject } from "@rnode/eth-api";
import type { Hex } from "@rnode/primitives";
import { UserError } from "@rnode/program";
import { rowsOfBlock } from "./block-rows.ts";
import type { BlockSource } from "./block-source.ts";
import type { ExportedRange, ExportFolder, ExportSubject } from "./export-folder.ts";
import { newTableFile } from "./table-file.ts";

/** Number of the first exported range that is not on the canonical chain any more. */
export function firstReplaced(ranges: readonly ExportedRange[], hashAt: (number: number) => string | undefined): number {
  let count = ranges.length;
  while (count > 0 && hashAt(ranges[count - 1]!.to) !== ranges[count - 1]!.hash) count--;
  return count;
}

export interface ExportPlan {
  readonly subject: Pick<ExportSubject, "format" | "tables">;
  readonly from: number;
  readonly to: number;
  readonly blocksPerFile: number;
  readonly onProgress: (number: number) => void;
}

/** Exports blocks in files that begin at multiples of `blocksPerFile`. @throws {UserError} a reorganisation happened meanwhile */
export async function exportRanges(folder: ExportFolder, source: BlockSource, plan: ExportPlan): Promise<void> {
  const { subject, to, blocksPerFile, onProgress } = plan;
  for (let from = plan.from; from <= to; ) {
    const last = Math.min(to, from - (from % blocksPerFile) + blocksPerFile - 1);
    const files = subject.tables.map((table) => ({
      table,
      file: newTableFile(subject.format, folder.partialPath(table, from, last), table),
    }));
    let previous = folder.ranges.at(-1)?.hash;
    let parentOfFirst: Hex | undefined;
    for (let number = from; number <= last; number++) {
      const json = await source(number);
      const { hash, parentHash } = json.block as JsonObject & { readonly hash: Hex; readonly parentHash: Hex };
      if (previous !== undefined && parentHash !== previous) {
        throw new UserError(
          `the parent of block ${number} ${hash} is not ${previous}, which was exported: a reorganisation; run again`,
        );
      }
      parentOfFirst ??= parentHash;
      previous = hash;
      const rows = rowsOfBlock(json);
      for (const { table, file } of files) for (const row of rows[table]) file.add(row);
      onProgress(number);
    }
    for (const { file } of files) file.finish();
    folder.add({ from, to: last, parent_hash: parentOfFirst!, hash: previous! });
    from = last + 1;
  }
}
