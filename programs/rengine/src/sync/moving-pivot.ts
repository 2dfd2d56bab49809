import type { Logger } from "@rnode/observe";
import { bytesToHex, type Hex } from "@rnode/primitives";
import type { Header } from "@rnode/protocol";
import type { StateTaker } from "@rnode/sync";

export type Head = Parameters<StateTaker["takes"]>[0];

/** The block whose state is fetched. */
export interface Pivot {
  readonly header: Header;
  readonly hash: Uint8Array;
}

export interface MovingPivotDeps {
  /** the head that fork choice named last */
  readonly newest: () => Head;
  /** @throws {UserError} no peer gives the block */
  readonly headerOf: (hash: Uint8Array) => Promise<Header>;
  readonly log: Logger;
}

/** Peers have the states of the last 128 blocks, and the slowest of them are some blocks behind. */
const MAX_BEHIND = 64;

/** A head, and later a newer one, before peers forget the state of the first. */
export class MovingPivot {
  readonly #deps: MovingPivotDeps;
  #current: Pivot;
  /** by state root */
  readonly #all = new Map<Hex, Pivot>();
  #isMoving = false;

  private constructor(first: Pivot, deps: MovingPivotDeps) {
    this.#deps = deps;
    this.#current = first;
    this.#all.set(bytesToHex(first.header.stateRoot), first);
  }

  static async at({ hash }: Head, deps: MovingPivotDeps): Promise<MovingPivot> {
    return new MovingPivot({ header: await deps.headerOf(hash), hash }, deps);
  }

  /** State root of the block that is wanted now. */
  get root(): Uint8Array {
    const newest = this.#deps.newest();
    const { header } = this.#current;
    if (!this.#isMoving && newest.number - header.number >= MAX_BEHIND) void this.#move(newest);
    return header.stateRoot;
  }

  /** The block that was wanted with this state root. */
  withRoot(root: Uint8Array): Pivot {
    return this.#all.get(bytesToHex(root))!;
  }

  async #move({ number, hash }: Head): Promise<void> {
    const { headerOf, log } = this.#deps;
    this.#isMoving = true;
    try {
      const header = await headerOf(hash);
      this.#current = { header, hash };
      this.#all.set(bytesToHex(header.stateRoot), this.#current);
      log.info("the state of a newer head is fetched, because peers forget that of the old one", { number });
    } catch (error) {
      log.debug("the newer head cannot be had from peers", { number, error });
    } finally {
      this.#isMoving = false;
    }
  }
}
