import type { PeerFault } from "../api.ts";

/** A peer with this number of faults within this time is disconnected. */
const LIMITS: Readonly<Record<Exclude<PeerFault, "lied">, number>> = { slow: 3, useless: 5 };
const WINDOW_MS = 10 * 60_000;

/** The faults of one peer. */
export class FaultCount {
  readonly #times: Record<Exclude<PeerFault, "lied">, number[]> = { slow: [], useless: [] };

  /** @returns whether there were too many lately */
  add(fault: Exclude<PeerFault, "lied">, nowMs: number): boolean {
    const recent = this.#times[fault].filter((atMs) => nowMs - atMs < WINDOW_MS);
    recent.push(nowMs);
    this.#times[fault] = recent;
    return recent.length >= LIMITS[fault];
  }
}
