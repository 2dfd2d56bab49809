import type { Health } from "./metrics-server.ts";

/** Why a program's answers cannot be relied on yet, or at the moment: the reasons of all its parts. For `GET /readyz`. */
export class Readiness {
  readonly #version: string;
  readonly #parts: (() => readonly string[])[] = [];

  constructor(version: string) {
    this.#version = version;
  }

  /** @param reasons of one part, read on each request; empty if it is ready */
  expect(reasons: () => readonly string[]): void {
    this.#parts.push(reasons);
  }

  get reasons(): readonly string[] {
    return this.#parts.flatMap((reasons) => reasons());
  }

  get health(): Health {
    const { reasons } = this;
    return { isHealthy: reasons.length === 0, body: { version: this.#version, reasons } };
  }
}
