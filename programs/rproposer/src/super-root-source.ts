import type { SuperRootAnswer } from "@rnode/node-clients";
import { errorText, type Logger } from "@rnode/observe";
import type { Clock } from "@rnode/primitives";
import { encodeSuperRoot } from "@rnode/protocol";
import type { Proposal, ProposalSource, SourceStatus } from "./proposal.ts";
import { ProposerError } from "./proposer-error.ts";

/** A node that serves super roots; `RpcSuperRootSource` is one. */
export interface SuperRootNode {
  readonly name: string;
  /** @param timestampSec L2 time */
  atTimestamp(timestampSec: number): Promise<SuperRootAnswer>;
}

/**
 * Super roots of several nodes (`--superroot-rpcs`) that follow the same dependency set. The one that has read most of L1 says what
 * is safe and finalized; if it does not have a root, the others are asked for it in the order of what they have read.
 */
export class SuperRootSource implements ProposalSource {
  readonly rootKind = "super root";
  readonly #clock: Clock;
  readonly #log: Logger;
  /** the one that has read most of L1 first */
  #nodes: readonly SuperRootNode[];
  readonly #troubles = new Map<string, string>();

  constructor(nodes: readonly SuperRootNode[], { clock, log }: { readonly clock: Clock; readonly log: Logger }) {
    this.#nodes = nodes;
    this.#clock = clock;
    this.#log = log;
  }

  async status(): Promise<SourceStatus> {
    const nowSec = Math.floor(this.#clock.unixMs() / 1000);
    const asked = await Promise.all(this.#nodes.map(async (node) => ({ node, outcome: await this.#ask(node, nowSec) })));
    const l1NumberOf = ({ outcome }: (typeof asked)[number]): number =>
      outcome.kind === "answer" ? outcome.answer.currentL1.number : -1;
    const ranked = asked.sort((a, b) => l1NumberOf(b) - l1NumberOf(a));
    this.#nodes = ranked.map(({ node }) => node);
    const { outcome } = ranked[0]!;
    if (outcome.kind === "answer") return statusOf(outcome.answer);
    const reasons = ranked.map(({ node, outcome: { reason } }) => `${node.name}: ${reason}`);
    // an endpoint of another kind is only certain if no other one may answer later
    throw unavailable("what is safe", reasons, ranked.length === 1 ? outcome.error : undefined);
  }

  async proposalAt(timestampSec: number): Promise<Proposal> {
    const reasons: string[] = [];
    for (const node of this.#nodes) {
      const outcome = await this.#ask(node, timestampSec);
      const data = outcome.kind === "answer" ? outcome.answer.data : undefined;
      if (outcome.kind === "answer" && data !== undefined) {
        const { root, superRoot } = data;
        const extraData = encodeSuperRoot(superRoot);
        return { root, sequenceNumber: timestampSec, timestampSec, extraData, status: statusOf(outcome.answer) };
      }
      reasons.push(`${node.name}: ${outcome.reason ?? "it has none of that time"}`);
    }
    throw unavailable(`the super root of L2 time ${timestampSec}`, reasons);
  }

  async #ask(
    node: SuperRootNode,
    timestampSec: number,
  ): Promise<
    | { readonly kind: "answer"; readonly answer: SuperRootAnswer; readonly reason?: undefined }
    | { readonly kind: "failed"; readonly reason: string; readonly error: unknown }
  > {
    try {
      const answer = await node.atTimestamp(timestampSec);
      this.#troubles.delete(node.name);
      return { kind: "answer", answer };
    } catch (error) {
      const reason = errorText(error);
      if (this.#troubles.get(node.name) !== reason) this.#log.warn("a source of super roots failed", { source: node.name, reason });
      this.#troubles.set(node.name, reason);
      return { kind: "failed", reason, error };
    }
  }
}

const statusOf = ({ currentL1, safeTimeSec, finalizedTimeSec }: SuperRootAnswer): SourceStatus => ({
  currentL1,
  safe: safeTimeSec,
  finalized: finalizedTimeSec,
});

const unavailable = (what: string, reasons: readonly string[], cause?: unknown): ProposerError =>
  new ProposerError("proposer/no-super-root", { what, reasons: reasons.join("; ") }, { cause });
