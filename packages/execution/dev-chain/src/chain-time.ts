import { DevError } from "./dev-error.ts";

export interface ChainTimeOptions {
  readonly genesisSec: number;
  /** every block has its own slot; timestamps are whole slots after the genesis, unless they were set by request */
  readonly slotSec: number;
  readonly nowSec: () => number;
}

/** The settings that a snapshot includes. */
export interface TimeSettings {
  readonly offsetSec: number;
  readonly nextSec: number | undefined;
  readonly intervalSec: number | undefined;
}

/** Which time the next block has. The chain's clock is the machine's, moved by an offset. */
export class ChainTime {
  readonly genesisSec: number;
  readonly slotSec: number;
  readonly #nowSec: () => number;
  #settings: TimeSettings;

  /** @param headSec of the latest block: the clock does not begin behind it, nor, in a new chain, ahead of it */
  constructor({ genesisSec, slotSec, nowSec }: ChainTimeOptions, headSec: number) {
    this.genesisSec = genesisSec;
    this.slotSec = slotSec;
    this.#nowSec = nowSec;
    const isNew = headSec === genesisSec;
    this.#settings = {
      offsetSec: isNew ? headSec - nowSec() : Math.max(0, headSec - nowSec()),
      nextSec: undefined,
      intervalSec: undefined,
    };
  }

  get nowSec(): number {
    return this.#nowSec() + this.#settings.offsetSec;
  }

  get offsetSec(): number {
    return this.#settings.offsetSec;
  }

  get settings(): TimeSettings {
    return this.#settings;
  }

  restore(settings: TimeSettings): void {
    this.#settings = settings;
  }

  slotOf(timestampSec: number): number {
    return Math.floor((timestampSec - this.genesisSec) / this.slotSec);
  }

  /** The clock shows this from now on. */
  set(timestampSec: number): void {
    this.#settings = { ...this.#settings, offsetSec: timestampSec - this.#nowSec() };
  }

  advance(seconds: number): void {
    this.#settings = { ...this.#settings, offsetSec: this.#settings.offsetSec + seconds };
  }

  /** @throws {DevError} dev/time-not-after-head, dev/slot-taken */
  setNext(timestampSec: number, headSec: number): void {
    this.#checkAfter(timestampSec, headSec);
    this.#settings = { ...this.#settings, nextSec: timestampSec };
  }

  /** From now on a block is this much later than its parent, whatever the clock shows; undefined: by the clock again. */
  setInterval(intervalSec: number | undefined): void {
    this.#settings = { ...this.#settings, intervalSec };
  }

  /** The time of the next block, if it is made now. */
  peek(headSec: number): number {
    const { nextSec, intervalSec } = this.#settings;
    if (nextSec !== undefined && nextSec > headSec && this.slotOf(nextSec) > this.slotOf(headSec)) return nextSec;
    if (intervalSec !== undefined && intervalSec > 0) return this.#later(headSec + intervalSec, headSec);
    return this.#later(this.nowSec, headSec);
  }

  /** The time of the next block. Uses up the value set for it; the clock continues from there. */
  take(headSec: number): number {
    const timestampSec = this.peek(headSec);
    const { nextSec } = this.#settings;
    this.#settings = { ...this.#settings, nextSec: undefined };
    if (nextSec !== undefined || timestampSec > this.nowSec) this.set(timestampSec);
    return timestampSec;
  }

  /** The beginning of the slot that a time is in, or of the first free slot. */
  #later(timestampSec: number, headSec: number): number {
    const slot = Math.max(this.slotOf(timestampSec), this.slotOf(headSec) + 1);
    return this.genesisSec + slot * this.slotSec;
  }

  #checkAfter(timestamp: number, latest: number): void {
    if (timestamp <= latest) throw new DevError("dev/time-not-after-head", { timestamp, latest });
    const slot = this.slotOf(timestamp);
    if (slot <= this.slotOf(latest)) throw new DevError("dev/slot-taken", { timestamp, slot, slotSec: this.slotSec });
  }
}
