import type { Clock } from "@rnode/primitives";
import { RollupClientError } from "./rollup-client-error.ts";

/** A node that may be the sequencer. */
export interface SequencerCandidate {
  readonly name: string;
  isSequencing(): Promise<boolean>;
}

export interface ActiveSequencerOptions {
  /** so long an answer counts */
  readonly checkIntervalMs: number;
}

/** Knows which of several nodes is the active sequencer. A single node is taken without being asked. */
export class ActiveSequencer {
  readonly #options: ActiveSequencerOptions;
  readonly #nodes: readonly SequencerCandidate[];
  readonly #clock: Clock;
  readonly #onChange: (name: string) => void;
  #current = 0;
  #checkAtMs = Number.NEGATIVE_INFINITY;

  /** @param onChange called with the selected node when it differs from the previous one */
  constructor(
    options: ActiveSequencerOptions,
    nodes: readonly SequencerCandidate[],
    { clock, onChange }: { readonly clock: Clock; readonly onChange: (name: string) => void },
  ) {
    this.#options = options;
    this.#nodes = nodes;
    this.#clock = clock;
    this.#onChange = onChange;
  }

  /** The node's place in the list. @throws {RollupClientError} rollup-client/no-active-sequencer */
  async index(): Promise<number> {
    if (this.#nodes.length === 1 || this.#clock.monotonicMs() < this.#checkAtMs) return this.#current;
    const reasons: string[] = [];
    // The current one first: as long as it is active, the others are not asked.
    for (let step = 0; step < this.#nodes.length; step++) {
      const at = (this.#current + step) % this.#nodes.length;
      const node = this.#nodes[at]!;
      try {
        if (await node.isSequencing()) {
          this.#checkAtMs = this.#clock.monotonicMs() + this.#options.checkIntervalMs;
          if (at !== this.#current) this.#onChange(node.name);
          this.#current = at;
          return at;
        }
        reasons.push(`${node.name}: its sequencer is stopped`);
      } catch (error) {
        reasons.push(`${node.name}: ${(error as Error).message}`);
      }
    }
    throw new RollupClientError("rollup-client/no-active-sequencer", { reasons: reasons.join("; ") });
  }

  /**
   * Asks a node again, even if the last answer is recent. Blocks just read from a sequencer that has stopped since may be blocks
   * that its cluster does not commit.
   *
   * @param index as `index` returned it
   * @throws {RollupClientError} rollup-client/no-active-sequencer; the errors of the request
   */
  async confirm(index: number): Promise<void> {
    const node = this.#nodes[index]!;
    if (this.#nodes.length === 1 || (await node.isSequencing())) return;
    throw new RollupClientError("rollup-client/no-active-sequencer", { reasons: `${node.name}: its sequencer was stopped` });
  }

  /** After a failure of the current node: the next call of `index` asks again. */
  recheck(): void {
    this.#checkAtMs = Number.NEGATIVE_INFINITY;
  }
}
