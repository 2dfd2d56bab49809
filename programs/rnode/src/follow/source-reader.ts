import { RpcError } from "@rnode/jsonrpc";
import type { Logger } from "@rnode/observe";
import { type Clock, isCodedError } from "@rnode/primitives";
import type { BlockId, RollupConfig } from "@rnode/protocol";
import type { CanonicalL1, L1Verdict } from "./canonical-l1.ts";
import { checkReport } from "./check-report.ts";
import type { FollowSource, SourceReport, SourceTrouble } from "./follow-source.ts";
import { configDifferences } from "./source-chain.ts";

export interface SourceReaderDeps {
  readonly config: RollupConfig;
  readonly source: FollowSource;
  readonly l1: Pick<CanonicalL1, "check">;
  readonly clock: Clock;
  readonly log: Logger;
  /** a reading is there to be taken */
  readonly wake: () => void;
}

export type Reading =
  /** its L1 blocks are canonical on our L1 */
  | { readonly kind: "report"; readonly report: SourceReport }
  | ({ readonly kind: "trouble" } & SourceTrouble)
  /** L1 no longer has a block that our own heads rely on */
  | { readonly kind: "l1-reorg"; readonly reason: string };

/** The source's rollup configuration is compared again after so long, and after each trouble: another node may answer at its address. */
const COMPARE_EVERY_MS = 60_000;
const METHOD_NOT_FOUND = -32601;

/** Reads the source in the background, at most one request at a time. */
export class SourceReader {
  private readonly deps: SourceReaderDeps;
  private isReading = false;
  private reading: Reading | undefined;
  /** not an answer, but an error of this program */
  private failure: { readonly error: unknown } | undefined;
  private comparedMs: number | undefined;
  private saidLater = "";
  private isUntoldSaid = false;
  private generation = 0;
  /** how often L1 may have replaced blocks, and up to which time our own heads have been checked since */
  private doubts = 0;
  private resolvedDoubts = 0;

  constructor(deps: SourceReaderDeps) {
    this.deps = deps;
  }

  get isBusy(): boolean {
    return this.isReading || this.reading !== undefined || this.failure !== undefined;
  }

  /** Forgets what has been read, and what is being read. */
  clear(): void {
    this.generation++;
    this.reading = undefined;
  }

  /** @returns what has been read since the last call, if anything */
  take(): Reading | undefined {
    if (this.failure !== undefined) throw this.failure.error;
    const { reading } = this;
    this.reading = undefined;
    return reading;
  }

  /** L1 may have replaced blocks that our own heads rely on: they are checked before the source is read. */
  doubtL1(): void {
    this.doubts++;
  }

  /** Starts to read. @param reliedOn L1 blocks that our own heads rely on */
  start(reliedOn: readonly BlockId[]): void {
    const { generation } = this;
    this.isReading = true;
    const end = (): void => {
      this.isReading = false;
      this.deps.wake();
    };
    void this.read(reliedOn).then(
      (reading) => {
        if (generation === this.generation) this.reading = reading;
        end();
      },
      (error: unknown) => {
        this.failure = { error };
        end();
      },
    );
  }

  private async read(reliedOn: readonly BlockId[]): Promise<Reading> {
    const { doubts } = this;
    if (doubts !== this.resolvedDoubts) {
      const lost = await this.canonical(reliedOn, "L1 block");
      if (lost.kind === "trouble" && lost.result === "error_l1_mismatch") return { kind: "l1-reorg", reason: lost.reason };
      if (lost.kind === "canonical") this.resolvedDoubts = doubts; // a block that L1 does not have yet is no contradiction
    }
    const reading = await this.ask();
    // another node may answer at this address by now, except if only our own L1 is behind
    if (reading.kind === "trouble" && reading.result !== "error_l1_lookup") this.comparedMs = undefined;
    return reading;
  }

  private async ask(): Promise<Reading> {
    const { config, source } = this.deps;
    const foreign = await this.compareChain();
    if (foreign !== undefined) return foreign;
    const status = await answerOf(() => source.syncStatus());
    if ("trouble" in status) return trouble("error_fetch_status", status.trouble);
    const verdict = checkReport(status.answer, config);
    if (verdict.kind !== "report") return verdict;
    const { localSafe, safe, finalized, currentL1 } = verdict.report;
    const origins = [localSafe, safe, finalized].map(({ l1Origin }) => l1Origin);
    const ofOrigins = await this.canonical(origins, "the L1 origin of one of its blocks,");
    if (ofOrigins.kind === "trouble") return ofOrigins;
    const ofCurrent = await this.canonical([currentL1], "its current L1 block");
    return ofCurrent.kind === "trouble"
      ? ofCurrent
      : { kind: "report", report: { ...verdict.report, currentL1: ofCurrent.blocks[0]! } };
  }

  /** Whether the source is of this chain. A source that does not tell is judged by its blocks alone. */
  private async compareChain(): Promise<Reading | undefined> {
    const { config, source, clock, log } = this.deps;
    const nowMs = clock.monotonicMs();
    if (this.comparedMs !== undefined && nowMs - this.comparedMs < COMPARE_EVERY_MS) return undefined;
    const theirs = await answerOf(() => source.rollupConfig());
    if ("trouble" in theirs && theirs.kind === "no-answer") return trouble("error_fetch_status", theirs.trouble);
    this.comparedMs = nowMs;
    if ("trouble" in theirs) {
      if (!this.isUntoldSaid)
        log.warn("the source does not tell its rollup configuration: it is not compared", {
          source: source.name,
          reason: theirs.trouble,
        });
      this.isUntoldSaid = true;
      return undefined;
    }
    const { now, later } = configDifferences(config, theirs.answer, Math.floor(clock.unixMs() / 1_000));
    if (now.length > 0) return trouble("error_invalid_state", foreignSource(now));
    const text = later.join("; ");
    if (text !== "" && text !== this.saidLater) {
      log.warn("the source has another fork schedule ahead: update the node that is behind before that", {
        source: source.name,
        differences: text,
      });
    }
    this.saidLater = text;
    return undefined;
  }

  private async canonical(
    blocks: readonly BlockId[],
    what: string,
  ): Promise<Extract<L1Verdict, { kind: "canonical" }> | ReturnType<typeof trouble>> {
    try {
      const verdict = await this.deps.l1.check(blocks);
      if (verdict.kind === "canonical") return verdict;
      const { number, hash } = verdict.block;
      if (verdict.kind === "missing") return trouble("error_l1_lookup", `our L1 does not have ${what} ${number} yet`);
      return trouble("error_l1_mismatch", `${what} ${number} is ${hash}, but our L1 has ${verdict.got}`);
    } catch (error) {
      if (!isCodedError(error)) throw error;
      return trouble("error_l1_lookup", `our L1 does not answer: ${error.message}`);
    }
  }
}

/** The remedy is part of the text. */
export const foreignSource = (differences: readonly string[]): string =>
  `it follows other rules or another chain (${differences.join("; ")}): name a node of this chain in --l2.follow.source, with the same rollup configuration`;

const trouble = (result: SourceTrouble["result"], reason: string) => ({ kind: "trouble", result, reason }) as const;

interface NoAnswer {
  readonly trouble: string;
  readonly kind: "no-answer" | "unknown-method" | "bad-answer";
}

/** The answer, or why there is none. Any other error is one of this program. */
export async function answerOf<T>(ask: () => Promise<T>): Promise<{ readonly answer: T } | NoAnswer> {
  try {
    return { answer: await ask() };
  } catch (error) {
    if (error instanceof RpcError) {
      const kind = error.code === METHOD_NOT_FOUND ? "unknown-method" : "no-answer";
      return { trouble: `it answers: ${error.message.slice(0, 200)}`, kind };
    }
    if (!isCodedError(error)) throw error;
    return { trouble: error.message.slice(0, 400), kind: error.code === "rollup-client/bad-answer" ? "bad-answer" : "no-answer" };
  }
}
