import { SUPPOSED_GAS_PER_MS } from "@rnode/evm";
import { type Hex, LruCache } from "@rnode/primitives";
import { type PayloadAttributes, payloadId } from "@rnode/protocol";
import type { AttributesProblem } from "./attributes.ts";
import type { ParentState } from "../execute/block-execution.ts";
import type { PendingSource } from "../api.ts";
import type { PartsEnd, PartsOptions } from "../chain-parts.ts";
import type { ExecutedBlock } from "../execute/executed-block.ts";
import { PartStream } from "./part-stream.ts";
import { type FillLimits, type HeaderChoices, NO_LIMITS, type PayloadBuild } from "./payload-builder.ts";

export interface PayloadJobsOptions {
  /** time for executing a block's pool transactions, when the build starts and when the payload is fetched together */
  readonly fillMs: number;
  /** the gas limit that Ethereum blocks move towards */
  readonly desiredGasLimit?: bigint | undefined;
}

/** A block that may be open for pool transactions. */
type OpenBuild = Pick<
  PayloadBuild,
  "usesPool" | "header" | "blockTimeSec" | "transactionCount" | "fill" | "keep" | "hasExactly" | "soFar" | "seal"
>;

/** Starts a build, up to its forced transactions. */
export type BeginBuild = (
  id: Hex,
  parent: ParentState,
  attributes: PayloadAttributes,
  choices: HeaderChoices,
) => { readonly kind: "started"; readonly build: OpenBuild } | { readonly kind: "invalid"; readonly problem: AttributesProblem };

type OpenJob = {
  readonly kind: "open";
  readonly build: OpenBuild;
  /** time that its pool transactions have taken */
  spentMs: number;
  /** undefined: no parts are published */
  parts?: PartStream | undefined;
};
type Job = OpenJob | { readonly kind: "sealed"; readonly executed: ExecutedBlock };

const DEFAULT_OPTIONS: PayloadJobsOptions = { fillMs: 400 };
const MAX_JOBS = 8;

/**
 * Payloads under construction, by id. A build stays open for pool transactions until it is fetched, so that each transaction is
 * executed once and the latest are still included. At most one build is open, because it occupies the engine.
 */
export class PayloadJobs {
  limits: FillLimits = NO_LIMITS;
  source: PendingSource | undefined;
  /** how the parts of open builds are published; undefined: they are not */
  partsOptions: PartsOptions | undefined;
  readonly #begin: BeginBuild;
  readonly #nowMs: () => number;
  readonly #options: PayloadJobsOptions;
  readonly #jobs = new LruCache<Hex, Job>(MAX_JOBS);

  constructor(begin: BeginBuild, nowMs: () => number, options: PayloadJobsOptions = DEFAULT_OPTIONS) {
    this.#begin = begin;
    this.#nowMs = nowMs;
    this.#options = options;
  }

  /** `miner_setGasLimit` comes before the option. */
  get #desiredGasLimit(): bigint | undefined {
    return this.limits.maxBlockGas === 0n ? this.#options.desiredGasLimit : this.limits.maxBlockGas;
  }

  /** Starts a build on `parent`, unless the same one is already running. */
  start(
    parent: ParentState,
    attributes: PayloadAttributes,
    version: number,
  ): { kind: "started"; id: Hex } | { kind: "invalid"; problem: AttributesProblem } {
    const id = payloadId(parent.hash, attributes, version);
    if (this.#jobs.has(id)) return { kind: "started", id };
    this.suspend("replaced");
    const started = this.#begin(id, parent, attributes, { desiredGasLimit: this.#desiredGasLimit });
    if (started.kind === "invalid") return started;
    const { build } = started;
    if (build.usesPool) {
      const job: OpenJob = { kind: "open", build, spentMs: 0 };
      this.#jobs.set(id, job);
      if (this.partsOptions === undefined) this.#fill(job, this.limits);
      else this.#startParts(id, job, this.partsOptions);
    } else {
      this.#jobs.set(id, { kind: "sealed", executed: build.seal() });
    }
    return { kind: "started", id };
  }

  /** Returns the block with the newest transactions; undefined for an unknown id. */
  finish(id: Hex): ExecutedBlock | undefined {
    const job = this.#jobs.get(id);
    if (job === undefined) return undefined;
    if (job.kind === "sealed") return job.executed;
    if (job.parts === undefined) this.#fill(job, this.limits);
    else job.parts.seal();
    return this.#seal(id, job);
  }

  /** Seals the open build as it is, because its engine or its state is needed. */
  suspend(reason: PartsEnd): void {
    for (const [id, job] of [...this.#jobs]) {
      if (job.kind !== "open") continue;
      job.parts?.end(reason);
      this.#seal(id, job);
    }
  }

  #startParts(id: Hex, job: OpenJob, options: PartsOptions): void {
    job.parts = new PartStream(job.build, id, options, (share) => this.#fill(job, share(this.limits)));
    job.parts.start(options.promised(job.build.header.parentHash));
  }

  #seal(id: Hex, { build }: OpenJob): ExecutedBlock {
    const executed = build.seal();
    this.#jobs.set(id, { kind: "sealed", executed });
    return executed;
  }

  #fill(job: OpenJob, limits: FillLimits): void {
    if (this.source === undefined) return;
    const startMs = this.#nowMs() - job.spentMs;
    const leftMs = (): number => this.#options.fillMs - (this.#nowMs() - startMs);
    job.build.fill(this.source, limits, {
      isUp: () => leftMs() <= 0,
      isEnoughFor: (gasLimit) => Number(gasLimit) / SUPPOSED_GAS_PER_MS <= leftMs(),
    });
    job.spentMs = this.#nowMs() - startMs;
  }
}
