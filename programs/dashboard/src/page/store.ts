import type {
  DownMessage,
  FeedUpdate,
  HeadsSample,
  HealthState,
  ProcessState,
  ProgramKind,
  ProgramMessage,
  SyncState,
} from "../messages.ts";

type Key = number | string;

/** The state of one program. */
export interface ProgramView {
  readonly id: string;
  readonly name: string;
  readonly kind: ProgramKind;
  version: string;
  startedMs: number;
  /** undefined: no message yet */
  isUp: boolean | undefined;
  /** why it is not up */
  reasons: readonly string[];
  /** the program's time at its last message */
  atMs: number;
  readonly state: Map<string, unknown>;
  readonly kinds: Map<string, Map<Key, unknown>>;
  /** entries that were not sent because there were too many at once */
  left: number;
}

/** A page can be open for days. Per program and kind; heads are sampled each second while it is open. */
const KEPT = 400;
const KEPT_HEADS = 1800;

/** Everything that the page knows, fed by messages. */
export class Store {
  readonly programs = new Map<string, ProgramView>();
  /** undefined: never connected */
  isConnected: boolean | undefined;

  /** @param json of an event of the feed */
  receive(event: string, json: string): void {
    const message = JSON.parse(json) as ProgramMessage | FeedUpdate | DownMessage;
    if (event === "expected") this.#expected(message as DownMessage);
    else if (event === "program") this.#program(message as ProgramMessage);
    else if (event === "down") this.#down(message as DownMessage);
    else if (event === "feed") this.#feed(message as FeedUpdate);
  }

  #expected(message: DownMessage): void {
    this.#view(message);
  }

  #program(message: ProgramMessage): void {
    const view = this.#view(message);
    if (message.startedMs !== view.startedMs) view.kinds.clear(); // another run of the program
    Object.assign(view, { version: message.version, startedMs: message.startedMs, isUp: true, reasons: [] });
  }

  #down(message: DownMessage): void {
    Object.assign(this.#view(message), { isUp: false, reasons: message.reasons });
  }

  #feed({ id, atMs, entries, left }: FeedUpdate): void {
    const view = this.programs.get(id);
    if (view === undefined) return;
    view.atMs = atMs;
    view.left += left;
    for (const [kind, key, value] of entries) {
      if (kind !== "state") {
        this.#put(view, kind, key, value);
        continue;
      }
      view.state.set(String(key), value);
      const sample = key === "sync" ? headsSample(value as SyncState, atMs) : undefined;
      if (sample !== undefined) this.#put(view, "heads", atMs, sample);
      if (key === "pool") this.#put(view, "pools", atMs, value);
    }
  }

  #put(view: ProgramView, kind: string, key: Key, value: unknown): void {
    let known = view.kinds.get(kind);
    if (known === undefined) view.kinds.set(kind, (known = new Map()));
    known.delete(key);
    known.set(key, value);
    if (known.size > (kind === "heads" ? KEPT_HEADS : KEPT)) known.delete(known.keys().next().value!);
  }

  #view({ id, name, kind }: { readonly id: string; readonly name: string; readonly kind: ProgramKind }): ProgramView {
    let view = this.programs.get(id);
    if (view === undefined) {
      view = {
        id,
        name,
        kind,
        version: "",
        startedMs: 0,
        isUp: undefined,
        reasons: [],
        atMs: 0,
        left: 0,
        state: new Map(),
        kinds: new Map(),
      };
      this.programs.set(id, view);
    }
    return view;
  }
}

/** The state as a sample, as the program itself makes one now and then. */
function headsSample({ l1Head, unsafe, safe, finalized }: SyncState, atMs: number): HeadsSample | undefined {
  if (unsafe === undefined || safe === undefined || finalized === undefined) return undefined;
  const age = (timeSec: number): number => Math.max(0, Math.round(atMs / 100 - timeSec * 10) / 10);
  return {
    l1: l1Head?.number,
    unsafe: unsafe.number,
    safe: safe.number,
    finalized: finalized.number,
    unsafeAgeSec: age(unsafe.timeSec),
    safeAgeSec: age(safe.timeSec),
    finalizedAgeSec: age(finalized.timeSec),
  };
}

export const stateOf = <T>(program: ProgramView | undefined, name: string): T | undefined =>
  program?.state.get(name) as T | undefined;

/** Entries with keys that are numbers, in their order. */
export function entriesOf<T>(program: ProgramView | undefined, kind: string): (readonly [key: number, value: T])[] {
  const entries = [...(program?.kinds.get(kind) ?? [])] as [number, T][];
  return entries.sort(([a], [b]) => a - b);
}

export type Condition = "ready" | "not-ready" | "down" | "waiting";

/** How a program is, and why. */
export function conditionOf(program: ProgramView): { readonly condition: Condition; readonly reasons: readonly string[] } {
  if (program.isUp === undefined) return { condition: "waiting", reasons: [] };
  if (!program.isUp) return { condition: "down", reasons: program.reasons };
  const health = stateOf<HealthState>(program, "health");
  if (health === undefined || health.isReady) return { condition: "ready", reasons: [] };
  return { condition: "not-ready", reasons: health.reasons };
}

export const processOf = (program: ProgramView): ProcessState | undefined => stateOf<ProcessState>(program, "process");

/** Of "sequencer rnode": "sequencer". Programs with the same role belong together. */
export const roleOf = ({ name, kind }: ProgramView): string => (name.endsWith(` ${kind}`) ? name.slice(0, -kind.length - 1) : "");

/** The roles that a choice can be made among, in the order of the programs. */
export function rolesOf(programs: Iterable<ProgramView>): string[] {
  const nodes = [...programs].filter(({ kind }) => kind === "rnode" || kind === "rengine");
  return [...new Set(nodes.map(roleOf))].filter((role) => role !== "");
}
