import type { Logger } from "@rnode/observe";
import { Backoff, type Clock, isCodedError } from "@rnode/primitives";
import type { CrossUnsafe } from "./cross-unsafe.ts";
import type { SetStatus } from "./set-status.ts";
import type { SetVerifier } from "./set-verifier.ts";

/** How often a round is tried again that waits, and how often unsafe blocks are read. */
const POLL_MS = 250;
const PAUSES = { firstMs: 500, maxMs: 5_000 };
/** What is waited for is logged this often. */
const LINE_MS = 10_000;

export interface SetLoopDeps {
  readonly verifier: Pick<SetVerifier, "round">;
  readonly crossUnsafe: Pick<CrossUnsafe, "advance">;
  /** is told of each round, and of trouble */
  readonly status?: Pick<SetStatus, "note" | "noteTrouble">;
  readonly clock: Clock;
  readonly log: Logger;
}

/** Runs rounds until the signal. Trouble of an engine, L1 or the disk passes, and is tried again. */
export async function runSet({ verifier, crossUnsafe, status, clock, log }: SetLoopDeps, signal: AbortSignal): Promise<void> {
  const backoff = new Backoff(PAUSES);
  let rounds = 0;
  let lineMs = clock.monotonicMs();
  let unsafeMs = Number.NEGATIVE_INFINITY;
  while (!signal.aborted) {
    let pauseMs = 0;
    let waitsFor: string | undefined;
    try {
      const round = await verifier.round();
      if (backoff.failures > 0) log.info("verification of the set goes on");
      backoff.reset();
      if (round.kind === "verified") rounds++;
      if (round.kind === "waiting") {
        pauseMs = POLL_MS;
        waitsFor = round.reason;
      }
      if (clock.monotonicMs() - unsafeMs >= POLL_MS) {
        await crossUnsafe.advance();
        unsafeMs = clock.monotonicMs();
      }
      status?.note(round);
    } catch (error) {
      if (signal.aborted) return;
      if (!isCodedError(error)) throw error;
      status?.noteTrouble(error.message);
      pauseMs = backoff.nextMs();
      log.warn("verification of the set tries again after a pause", { reason: error.message, pauseMs });
    }
    if (clock.monotonicMs() - lineMs >= LINE_MS) {
      lineMs = clock.monotonicMs();
      log.info("set", { verified: rounds, waitsFor });
      rounds = 0;
    }
    await clock.sleep(pauseMs, signal);
  }
}
