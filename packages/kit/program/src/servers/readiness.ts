import type { Clock } from "@rnode/primitives";
import { systemClock } from "../process/system-clock.ts";
import { headFaults, type KnownHead, readHeadLimits } from "./head-limits.ts";
import type { Health } from "./metrics-server.ts";

/** Why a program's answers cannot be relied on yet, or at the moment: the reasons of all its parts. For `GET /readyz`. */
export class Readiness {
  readonly #version: string;
  readonly #clock: Pick<Clock, "unixMs">;
  readonly #parts: (() => readonly string[])[] = [];
  #head: (() => KnownHead | undefined) | undefined;

  constructor(version: string, clock: Pick<Clock, "unixMs"> = systemClock) {
    this.#version = version;
    this.#clock = clock;
  }

  /** @param reasons of one part, read on each request; empty if it is ready */
  expect(reasons: () => readonly string[]): void {
    this.#parts.push(reasons);
  }

  /** @param head of a program that follows a chain, which limits in the query apply to; `undefined`: it is not known yet */
  followHead(head: () => KnownHead | undefined): void {
    this.#head = head;
  }

  get reasons(): readonly string[] {
    return this.#parts.flatMap((reasons) => reasons());
  }

  get health(): Health {
    return this.#healthOf(this.reasons);
  }

  /** @param query may limit lag and age of the head */
  healthWithin(query: URLSearchParams): Health {
    const limits =
      query.size > 0 && this.#head === undefined ? "this program has no head: ask without parameters" : readHeadLimits(query);
    if (typeof limits === "string")
      return { isHealthy: false, isBadRequest: true, body: { version: this.#version, reasons: [limits] } };
    return this.#healthOf([...this.reasons, ...headFaults(this.#head?.(), limits, this.#clock.unixMs() / 1000)]);
  }

  #healthOf(reasons: readonly string[]): Health {
    return { isHealthy: reasons.length === 0, body: { version: this.#version, reasons } };
  }
}
