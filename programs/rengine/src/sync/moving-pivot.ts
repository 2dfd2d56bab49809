import type { Logger } from "@rnode/observe";
import { bytesToHex, equalBytes, type Hex } from "@rnode/primitives";
import { UserError } from "@rnode/program";
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
  /** number of the genesis block */
  readonly genesis: number;
  /** Called with each block and then with its parent. @throws {UserError} no peer gives the block */
  readonly headerOf: (hash: Uint8Array) => Promise<Header>;
  readonly log: Logger;
}

/** Geth's: reorgs of the unsafe head that are not deeper leave the pivot canonical. */
const BEHIND_HEAD = 64;
/** Peers have the states of the last 128 blocks, and the slowest of them are some blocks behind. */
const MAX_BEHIND = 120;
/** A pivot further behind the head is not compared with the head's ancestors. */
const MAX_COMPARED = 1_024;

/** An ancestor of the head, and later one of a newer head, before peers forget the state of the first. */
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

  /** @throws {UserError} no peer gives the blocks */
  static async below(deps: MovingPivotDeps): Promise<MovingPivot> {
    return new MovingPivot(await pivotOf(deps), deps);
  }

  /** Number of the block that is wanted now. */
  get number(): number {
    return this.#current.header.number;
  }

  /** State root of the block that is wanted now. */
  get root(): Uint8Array {
    const { header } = this.#current;
    if (!this.#isMoving && this.#deps.newest().number - header.number >= MAX_BEHIND) void this.#move();
    return header.stateRoot;
  }

  /** The block that was wanted with this state root. */
  withRoot(root: Uint8Array): Pivot {
    return this.#all.get(bytesToHex(root))!;
  }

  async #move(): Promise<void> {
    const { log } = this.#deps;
    this.#isMoving = true;
    try {
      this.#current = await pivotOf(this.#deps);
      const { header } = this.#current;
      this.#all.set(bytesToHex(header.stateRoot), this.#current);
      log.info("the pivot moves: peers forget the state of the old one", { number: header.number });
    } catch (error) {
      log.debug("the new pivot cannot be had from peers", { error });
    } finally {
      this.#isMoving = false;
    }
  }
}

/** @throws {UserError} no peer gives the blocks */
async function pivotOf({ newest, genesis, headerOf }: MovingPivotDeps): Promise<Pivot> {
  const { number, hash } = newest();
  return ancestorOf(hash, Math.min(BEHIND_HEAD, (number - genesis) >> 1), headerOf);
}

/** Whether a block is an ancestor of the newest head, as far as this can be had from peers. */
export async function isBelowHead(
  block: { readonly number: number; readonly hash: Uint8Array },
  { newest, headerOf }: Pick<MovingPivotDeps, "newest" | "headerOf">,
): Promise<boolean> {
  const { number, hash } = newest();
  const distance = number - block.number;
  if (distance > MAX_COMPARED) return true;
  if (distance < 0) return false;
  try {
    return equalBytes((await ancestorOf(hash, distance, headerOf)).hash, block.hash);
  } catch (error) {
    if (error instanceof UserError) return true;
    throw error;
  }
}

async function ancestorOf(hash: Uint8Array, distance: number, headerOf: MovingPivotDeps["headerOf"]): Promise<Pivot> {
  let found: Pivot = { header: await headerOf(hash), hash };
  for (let i = 0; i < distance; i++) {
    const { parentHash } = found.header;
    found = { header: await headerOf(parentHash), hash: parentHash };
  }
  return found;
}
