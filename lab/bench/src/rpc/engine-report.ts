import { loadavg } from "node:os";
import { median } from "./rpc-report.ts";

/** The time of one call, in each round. */
export interface CallRow {
  readonly transfers: number;
  readonly call: string;
  readonly ms: readonly number[];
  /** of the process that keeps the chain */
  readonly cpuMs: readonly number[];
  /** the same for the other checkout, in the same rounds */
  readonly old?: { readonly ms: readonly number[]; readonly cpuMs: readonly number[] } | undefined;
}

const OWN_COLUMNS = ["transfers", "call", "ms (least)", "CPU, ms"] as const;
const COLUMNS = ["transfers", "call", "before, ms (least)", "CPU, ms", "now, ms (least)", "CPU, ms", "time", "CPU time"] as const;

const figure = (ms: number): string => (ms < 10 ? ms.toFixed(2) : ms < 100 ? ms.toFixed(1) : ms.toFixed(0));
const clock = (ms: readonly number[]): string => `${figure(median(ms))} (${figure(Math.min(...ms))})`;
const ratioOf = (now: readonly number[], before: readonly number[]): string =>
  `× ${median(now.map((value, round) => value / before[round]!)).toFixed(2)}`;

function cellsOf({ transfers, call, ms, cpuMs, old }: CallRow): string[] {
  const place = [transfers.toLocaleString("en"), call];
  const own = [clock(ms), figure(median(cpuMs))];
  if (old === undefined) return [...place, ...own];
  return [...place, clock(old.ms), figure(median(old.cpuMs)), ...own, ratioOf(ms, old.ms), ratioOf(cpuMs, old.cpuMs)];
}

/** Medians of the rounds as a Markdown table; ratios are the median of the rounds' ratios. */
export function report(rows: readonly CallRow[]): string {
  const header: readonly string[] = rows.some(({ old }) => old !== undefined) ? COLUMNS : OWN_COLUMNS;
  const table = rows.map((row, index) => {
    const [transfers, ...rest] = cellsOf(row);
    return [rows[index - 1]?.transfers === row.transfers ? "" : transfers!, ...rest];
  });
  const widths = header.map((name, column) => Math.max(name.length, ...table.map((cells) => cells[column]!.length)));
  const line = (cells: readonly string[]): string => `| ${widths.map((width, at) => cells[at]!.padEnd(width)).join(" | ")} |`;
  const load = loadavg().map((value) => value.toFixed(1));
  return [line(header), line(widths.map((width) => "-".repeat(width))), ...table.map(line), "", `load ${load.join(", ")}`].join(
    "\n",
  );
}
