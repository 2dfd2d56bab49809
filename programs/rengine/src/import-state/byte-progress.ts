import type { CommandIo } from "@rnode/program";
import { duration } from "./row-progress.ts";

const REPORT_EVERY_MS = 1_000;
const MIB = 2 ** 20;

/** Reports bytes, their rate, and the time that is left. */
export class ByteProgress {
  readonly #io: Pick<CommandIo, "progress">;
  readonly #verb: string;
  readonly #startBytes: number;
  readonly #startMs = performance.now();
  #reportedMs = this.#startMs;

  /** @param startBytes of an earlier process */
  constructor(io: Pick<CommandIo, "progress">, verb: string, startBytes: number) {
    this.#io = io;
    this.#verb = verb;
    this.#startBytes = startBytes;
  }

  /** Call it often: it reports once a second. */
  at(bytes: number, total: number | undefined): void {
    const now = performance.now();
    if (now - this.#reportedMs < REPORT_EVERY_MS) return;
    this.#reportedMs = now;
    const rate = (1_000 * (bytes - this.#startBytes)) / (now - this.#startMs);
    const left = total === undefined ? "" : ` of ${Math.ceil(total / MIB)} MiB, ${duration((total - bytes) / rate)} left`;
    this.#io.progress(
      `${this.#verb}: ${Math.floor(bytes / MIB)}${left === "" ? " MiB" : left}, ${(rate / MIB).toFixed(1)} MiB a second`,
    );
  }
}
