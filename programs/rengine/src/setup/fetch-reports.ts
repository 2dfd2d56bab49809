import type { Logger } from "@rnode/observe";
import type { CommandIo } from "@rnode/program";
import type { GenesisFetch } from "./published-genesis.ts";

type Reports = Pick<GenesisFetch, "onProgress" | "onRetry">;

/** For a command: a line that changes. */
export const fetchReportsTo = (io: CommandIo): Reports => ({
  onProgress(url, doneBytes, totalBytes) {
    if (doneBytes === 0) io.err(`fetching ${url}`);
    else io.progress(`fetched ${kib(doneBytes)}${totalBytes === undefined ? "" : ` of ${kib(totalBytes)}`}`);
  },
  onRetry: (url, reason, waitMs) => io.err(`${url}: ${reason}; trying again in ${waitMs / 1000} s`),
});

const LOG_INTERVAL_MS = 5_000;

/** For a program: a line at the start, every few seconds, and at the end. */
export function fetchReportsIn(log: Logger, nowMs: () => number): Reports {
  let saidMs = 0;
  return {
    onProgress(url, doneBytes, totalBytes) {
      const isEnd = doneBytes === totalBytes;
      if (doneBytes > 0 && !isEnd && nowMs() - saidMs < LOG_INTERVAL_MS) return;
      saidMs = nowMs();
      log.info(isEnd ? "fetched a file of the genesis" : "fetching a file of the genesis", { url, doneBytes, totalBytes });
    },
    onRetry: (url, reason, waitMs) => log.warn("a file of the genesis does not come: trying again", { url, reason, waitMs }),
  };
}

const kib = (bytes: number): string => `${Math.ceil(bytes / 1024)} KiB`;
