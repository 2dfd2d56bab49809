import type { Clock } from "@rnode/primitives";
import { assertPortIsFree } from "@rnode/program";

export interface WantedPort {
  /** that chooses the port: `http.port` */
  readonly option: string;
  readonly host: string;
  readonly port: number;
}

/** The readers of a process that was killed end a moment after it, and hold its ports until then. */
const LIMIT_MS = 3_000;
const INTERVAL_MS = 100;

/** @throws {UserError} a port stays in use, or an address is not one of this machine, which is reported at once */
export async function requireFreePorts(wanted: readonly WantedPort[], clock: Clock): Promise<void> {
  const endMs = clock.monotonicMs() + LIMIT_MS;
  for (;;) {
    try {
      for (const { option, host, port } of wanted) await assertPortIsFree(option, { host, port });
      return;
    } catch (error) {
      if (!isInUse(error) || clock.monotonicMs() >= endMs) throw error;
    }
    await clock.sleep(INTERVAL_MS);
  }
}

const isInUse = (error: unknown): boolean =>
  error instanceof Error && error.cause instanceof Error && "code" in error.cause && error.cause.code === "EADDRINUSE";
