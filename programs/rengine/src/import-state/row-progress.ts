import type { RowCounts } from "@rnode/chain";
import type { CommandIo } from "@rnode/program";

const REPORT_EVERY_MS = 1_000;

/** Reports rows, their rate, and the time that is left. */
export class RowProgress {
  readonly #io: Pick<CommandIo, "progress">;
  readonly #verb: string;
  readonly #total: number | undefined;
  readonly #nowMs: () => number;
  readonly #startMs: number;
  #startRows: number | undefined;
  #startShare: number | undefined;
  #reportedMs: number;

  /** @param total rows in all, if it is known */
  constructor(io: Pick<CommandIo, "progress">, verb: string, total?: number, nowMs = (): number => performance.now()) {
    this.#io = io;
    this.#verb = verb;
    this.#total = total;
    this.#nowMs = nowMs;
    this.#startMs = nowMs();
    this.#reportedMs = this.#startMs;
  }

  /** Call it often: it reports once a second. @param share of the work that is done, if the number of rows is not known */
  at({ accounts, slots }: RowCounts, share?: number): void {
    const rows = accounts + slots;
    this.#startRows ??= rows;
    this.#startShare ??= share;
    const now = this.#nowMs();
    if (now - this.#reportedMs < REPORT_EVERY_MS) return;
    this.#reportedMs = now;
    const seconds = (now - this.#startMs) / 1_000;
    const rate = (rows - this.#startRows) / seconds;
    const total = this.#total;
    const of = total !== undefined ? ` of ${total} rows` : share !== undefined ? ` rows, ${Math.floor(100 * share)} %` : " rows";
    const left = total !== undefined ? (total - rows) / rate : (seconds * (1 - share!)) / (share! - this.#startShare!);
    const leftText = Number.isFinite(left) ? `, ${duration(left)} left` : "";
    this.#io.progress(`${this.#verb}: ${rows}${of}, ${Math.round(rate)} a second${leftText}`);
  }
}

/** "42 s", "12 min", "3 h 5 min" */
export function duration(seconds: number): string {
  if (seconds < 90) return `${Math.ceil(seconds)} s`;
  const minutes = Math.round(seconds / 60);
  return minutes < 90 ? `${minutes} min` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}
