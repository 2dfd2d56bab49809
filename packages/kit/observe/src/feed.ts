/** Plain data, as JSON can carry it; `undefined` properties are left out. */
export type FeedValue = object | string | number | boolean | null;

/** Replaces the viewer's value of `kind` and `key`. */
export type FeedEntry = readonly [kind: string, key: number | string, value: FeedValue];

/**
 * A program's data for viewers (dashboards): entries by kind and key, of which the latest of each kind are kept. Without viewers,
 * nothing is read or serialised, and no timer runs: an entry costs its place in a map.
 */
export interface Feed {
  /** Whether there are viewers: only then should expensive entries be created. */
  readonly isWatched: boolean;
  /**
   * Stores an entry, and sends it to viewers. The value is serialised later, so put a changed object again.
   *
   * @param kind one of a closed set of the program
   */
  put(kind: string, key: number | string, value: FeedValue): void;
  /**
   * State that is read once a second while there are viewers. `undefined`: not known yet. May be asynchronous; an error sends
   * nothing.
   */
  state(name: string, read: StateReader): void;
  /** Stores the value of `read` at intervals, so that later viewers see its history. The key is the time. */
  sampled(kind: string, read: () => FeedValue | undefined): void;
  /** Past entries that are read for a new viewer, instead of being stored. */
  past(read: () => readonly FeedEntry[]): void;
}

type StateReader = () => FeedValue | undefined | Promise<FeedValue | undefined>;

/** A feed without viewers. */
export const noFeed: Feed = { isWatched: false, put: () => {}, state: () => {}, sampled: () => {}, past: () => {} };

/** One message to viewers. */
export interface FeedMessage {
  readonly entries: readonly FeedEntry[];
  /** entries that were not sent, because there were too many at once */
  readonly left: number;
}

export interface FeedLimits {
  /** entries that are remembered of each kind */
  readonly remembered: number;
  /** entries of each kind in one message; of more, the latest are sent */
  readonly perMessage: number;
}

const DEFAULT_LIMITS: FeedLimits = { remembered: 360, perMessage: 60 };

/** The feed of a program, with the side that its server reads. */
export class FeedSource implements Feed {
  readonly #limits: FeedLimits;
  readonly #kinds = new Map<string, { readonly known: Map<number | string, FeedValue>; readonly changed: Set<number | string> }>();
  readonly #states = new Map<string, StateReader>();
  readonly #awaited = new Set<string>();
  readonly #arrived = new Map<string, FeedValue>();
  readonly #samples = new Map<string, () => FeedValue | undefined>();
  readonly #past: (() => readonly FeedEntry[])[] = [];
  #viewers = 0;

  constructor(limits: Partial<FeedLimits> = {}) {
    this.#limits = { ...DEFAULT_LIMITS, ...limits };
  }

  get isWatched(): boolean {
    return this.#viewers > 0;
  }

  put(kind: string, key: number | string, value: FeedValue): void {
    let entries = this.#kinds.get(kind);
    if (entries === undefined) this.#kinds.set(kind, (entries = { known: new Map(), changed: new Set() }));
    const { known, changed } = entries;
    known.delete(key); // the newest is the last
    known.set(key, value);
    if (known.size > this.#limits.remembered) known.delete(known.keys().next().value!);
    if (!this.isWatched) return;
    changed.delete(key);
    changed.add(key);
    if (changed.size > this.#limits.remembered) changed.delete(changed.keys().next().value!);
  }

  state(name: string, read: StateReader): void {
    this.#states.set(name, read);
  }

  sampled(kind: string, read: () => FeedValue | undefined): void {
    this.#samples.set(kind, read);
  }

  past(read: () => readonly FeedEntry[]): void {
    this.#past.push(read);
  }

  /** Stores the samples. @param atMs time of the sample, and its key */
  sample(atMs: number): void {
    for (const [kind, read] of this.#samples) {
      const value = read();
      if (value !== undefined) this.put(kind, atMs, value);
    }
  }

  /** Adds a viewer until `end` is called. @returns the stored entries */
  watch(): { readonly known: FeedMessage; readonly end: () => void } {
    if (this.#viewers++ === 0) for (const { changed } of this.#kinds.values()) changed.clear();
    let hasEnded = false;
    const end = (): void => {
      if (!hasEnded) this.#viewers--;
      hasEnded = true;
    };
    const remembered = [...this.#kinds].flatMap(([kind, { known }]) =>
      [...known].map(([key, value]): FeedEntry => [kind, key, value]),
    );
    return { known: { entries: [...this.#past.flatMap((read) => read()), ...remembered], left: 0 }, end };
  }

  /** The changes since the last call. */
  changes(): FeedMessage {
    const entries: FeedEntry[] = [];
    let left = 0;
    for (const [kind, { known, changed }] of this.#kinds) {
      const keys = [...changed];
      changed.clear();
      const sent = keys.slice(-this.#limits.perMessage);
      left += keys.length - sent.length;
      for (const key of sent) {
        const value = known.get(key);
        if (value !== undefined) entries.push([kind, key, value]);
      }
    }
    return { entries, left };
  }

  /** The current state, as entries of the kind `state`. Asynchronous values are the last that arrived. */
  states(): FeedEntry[] {
    const entries: FeedEntry[] = [];
    for (const [name, read] of this.#states) {
      const value = this.#readState(name, read);
      if (value !== undefined) entries.push(["state", name, value]);
    }
    return entries;
  }

  #readState(name: string, read: StateReader): FeedValue | undefined {
    if (this.#awaited.has(name)) return this.#arrived.get(name); // one that is slow is not asked again
    try {
      const value = read();
      if (!(value instanceof Promise)) return value;
      this.#awaited.add(name);
      value
        .then(
          (now) => (now === undefined ? this.#arrived.delete(name) : this.#arrived.set(name, now)),
          () => this.#arrived.delete(name),
        )
        .finally(() => this.#awaited.delete(name));
      return this.#arrived.get(name);
    } catch {
      return undefined;
    }
  }
}
