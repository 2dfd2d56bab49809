import type { L1Row } from "../messages.ts";

/** L1 blocks without anything from the batcher are one line together. */
export type PipelineLine =
  | { readonly kind: "block"; readonly row: L1Row }
  | { readonly kind: "empty"; readonly from: number; readonly to: number };

const isEmpty = (row: L1Row): boolean =>
  row.dataCount === 0 && row.dropCount === 0 && row.safe === undefined && row.channels.length === 0 && row.batchCount === 0;

/** The newest first. @param rows by number, the oldest first */
export function pipelineLines(rows: readonly L1Row[], most: number): PipelineLine[] {
  const lines: PipelineLine[] = [];
  for (const row of rows.toReversed()) {
    const last = lines.at(-1);
    if (!isEmpty(row)) lines.push({ kind: "block", row });
    else if (last?.kind === "empty" && last.from === row.number + 1) lines[lines.length - 1] = { ...last, from: row.number };
    else lines.push({ kind: "empty", from: row.number, to: row.number });
    if (lines.length > most) break;
  }
  return lines.slice(0, most);
}

/** What there is, counted: "4 accept, 1 epoch-too-old". */
export function tally(words: readonly string[]): string {
  const counts = new Map<string, number>();
  for (const word of words) counts.set(word, (counts.get(word) ?? 0) + 1);
  return [...counts].map(([word, count]) => (count === 1 ? word : `${count} ${word}`)).join(", ");
}
