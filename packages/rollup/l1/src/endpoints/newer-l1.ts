import type { Clock } from "@rnode/primitives";
import type { L1Log } from "./endpoints.ts";

/** Interval of the same log line. */
const REPEAT_MS = 3_600_000;
/** Maximum number of distinct features: types are one byte, and a hostile L1 can use all of them. */
const MAX_KINDS = 64;

/** Logs unknown features of L1, once an hour for each. */
export class NewerL1 {
  readonly #log: Pick<L1Log, "warn"> | undefined;
  readonly #clock: Clock;
  readonly #saidAtMs = new Map<string, number>();

  constructor(clock: Clock, log: Pick<L1Log, "warn"> | undefined) {
    this.#clock = clock;
    this.#log = log;
  }

  /** The feature does not block derivation. @param what for example "transaction type 0x05" */
  known(what: string, l1Block: number): void {
    this.#say(what, "L1 is newer than this version: install a new version soon", { what, l1Block });
  }

  /** The feature blocks derivation. @param reason has the remedy */
  stuck(reason: string, l1Block: number): void {
    this.#say("stuck", "L1 is newer than this version, and a block cannot be read", { l1Block, reason });
  }

  #say(key: string, text: string, fields: Record<string, unknown>): void {
    const nowMs = this.#clock.monotonicMs();
    const saidAtMs = this.#saidAtMs.get(key);
    if (saidAtMs !== undefined && nowMs - saidAtMs < REPEAT_MS) return;
    if (saidAtMs === undefined && this.#saidAtMs.size >= MAX_KINDS) return;
    this.#saidAtMs.set(key, nowMs);
    this.#log?.warn(text, fields);
  }
}
