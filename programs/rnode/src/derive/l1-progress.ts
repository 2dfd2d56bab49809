import type { L1BlockRef } from "@rnode/protocol";

/** How far derivation has come in L1. */
export class L1Progress {
  #idleAt: L1BlockRef | undefined;
  #current: L1BlockRef | undefined;
  /** L1 blocks after the current one with the first L2 block that each made safe, in order */
  #next: { readonly safe: number; readonly derivedFrom: L1BlockRef }[] = [];

  /**
   * The L1 block that derivation has reached. The safe head includes everything derived from earlier L1 blocks, but perhaps not
   * everything from this one. undefined: not known yet
   *
   * @param safe number of the published safe head, which follows derivation
   */
  current(safe: number | undefined): L1BlockRef | undefined {
    for (let next = this.#next[0]; next !== undefined && safe !== undefined && next.safe <= safe; next = this.#next[0]) {
      this.#current = next.derivedFrom;
      this.#next.shift();
    }
    return this.#current;
  }

  /** Whether all of L1 up to and including `head` has been read. */
  isIdleAt(head: L1BlockRef | undefined): boolean {
    return this.#idleAt !== undefined && this.#idleAt.hash === head?.hash;
  }

  /** L2 block number `safe` became safe. While a node catches up, this alone says where it is. */
  onSafe(safe: number, derivedFrom: L1BlockRef): void {
    if ((this.#next.at(-1)?.derivedFrom ?? this.#current)?.hash !== derivedFrom.hash) this.#next.push({ safe, derivedFrom });
  }

  /** All of L1 up to and including `origin` has been read. */
  onIdle(origin: L1BlockRef): void {
    this.#current = origin;
    this.#idleAt = origin;
    this.#next = [];
  }

  onReset(): void {
    this.#current = undefined;
    this.#idleAt = undefined;
    this.#next = [];
  }
}
