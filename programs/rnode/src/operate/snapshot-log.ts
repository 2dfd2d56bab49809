import { closeSync, openSync, writeSync } from "node:fs";
import { createLogger, type LogFields, type Logger } from "@rnode/observe";
import { StartError } from "../common/start-error.ts";
import type { SyncFacts } from "../rpc/sync-status.ts";

/** The file of `--snapshotlog.file`: a line of JSON with all heads of both chains, each time that one of them has moved. */
export class SnapshotLog {
  private readonly file: number;
  private readonly log: Logger;
  private last = "";

  /** @throws {StartError} the file cannot be written */
  constructor(path: string, nowMs: () => number) {
    try {
      this.file = openSync(path, "a", 0o644);
    } catch (cause) {
      throw new StartError(
        "start/bad-config",
        `--snapshotlog.file ${path}: ${(cause as Error).message}; name a file that can be written`,
        {
          cause,
        },
      );
    }
    const destination = { write: (line: string) => void writeSync(this.file, line) };
    this.log = createLogger({ level: "info", format: "json", destination, clock: nowMs });
  }

  note({ heads, l1, currentL1, queuedUnsafe }: SyncFacts): void {
    const fields: LogFields = {
      l1Head: idOf(l1.head),
      l1Current: idOf(currentL1),
      l1Safe: idOf(l1.safe),
      l1Finalized: idOf(l1.finalized),
      l2Head: idOf(heads?.unsafe),
      l2PendingSafe: idOf(heads?.pendingSafe),
      l2Safe: idOf(heads?.safe),
      l2Finalized: idOf(heads?.finalized),
      queuedUnsafe: idOf(queuedUnsafe),
    };
    const text = JSON.stringify(fields);
    if (text === this.last) return;
    this.last = text;
    this.log.info("Rollup State Snapshot", fields);
  }

  close(): void {
    closeSync(this.file);
  }
}

const idOf = (block: { readonly hash: string; readonly number: number } | undefined): string =>
  block === undefined ? "" : `${block.hash}:${block.number}`;
