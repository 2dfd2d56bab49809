import type { Profiler as CpuProfiler, HeapProfiler } from "node:inspector";
import type { Session } from "node:inspector/promises";
import { UserError } from "../process/failure.ts";
import { type Frame, ProfileBuilder } from "./profile-format.ts";

/** As Go: a hundred samples a second. */
const CPU_INTERVAL_US = 10_000;
/** As Go: a sample for each half MiB that is allocated. */
const HEAP_INTERVAL_BYTES = 512 * 1024;
/** The engine keeps every sample until it is read: it is read this often, so that memory does not grow with time. */
const SEGMENT_MS = 30_000;

/** A profile that is being taken. */
export interface Recording {
  /** Ends it. @returns a file for `go tool pprof` */
  stop(): Promise<Uint8Array>;
}

/**
 * Takes profiles of this thread through the inspector of the engine, without a port. Live memory is sampled from construction to `close`;
 * the engine has one sampler of memory, which allocations need too.
 */
export class Profiler {
  readonly #session: Promise<Session>;
  readonly #nowMs: () => number;
  readonly #startMs: number;
  /** allocations that are being recorded: the live memory is not known meanwhile */
  #allocations: Recording | undefined;
  #liveSinceMs = 0;

  /** @param nowMs for the times of profiles */
  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
    this.#startMs = nowMs();
    this.#session = this.#open();
    this.#session.catch(() => {}); // reported by the next request for a profile
  }

  async close(): Promise<void> {
    (await this.#session).disconnect();
  }

  /** Waits until memory is sampled. */
  async ready(): Promise<void> {
    await this.#session;
  }

  /** Starts a profile of the processor's time. */
  async cpu(): Promise<Recording> {
    const session = await newSession(); // others may be taken at the same time
    const builder = new ProfileBuilder({
      sampleTypes: [
        { type: "samples", unit: "count" },
        { type: "cpu", unit: "nanoseconds" },
      ],
      period: CPU_INTERVAL_US * 1000,
      periodType: { type: "cpu", unit: "nanoseconds" },
    });
    await session.post("Profiler.enable");
    await session.post("Profiler.setSamplingInterval", { interval: CPU_INTERVAL_US });
    return inSegments(builder, this.#nowMs, {
      start: () => session.post("Profiler.start"),
      stop: async () => addCpu(builder, (await session.post("Profiler.stop")).profile),
      close: () => session.disconnect(),
    });
  }

  /** Starts a profile of allocations, including released ones. @throws {UserError} another profile is running */
  async allocs(): Promise<Recording> {
    const session = await this.#session;
    if (this.#allocations !== undefined) throw busy();
    const builder = memoryProfile("alloc_space");
    const samplingOfAll = {
      samplingInterval: HEAP_INTERVAL_BYTES,
      includeObjectsCollectedByMajorGC: true,
      includeObjectsCollectedByMinorGC: true,
    };
    const recording = inSegments(builder, this.#nowMs, {
      // before the first one, live memory is sampled
      start: async () => {
        await session.post("HeapProfiler.stopSampling");
        await session.post("HeapProfiler.startSampling", samplingOfAll);
      },
      stop: async () => addMemory(builder, (await session.post("HeapProfiler.getSamplingProfile")).profile.head),
      close: async () => {
        await session.post("HeapProfiler.stopSampling");
        await this.#sampleLive(session);
        this.#allocations = undefined;
      },
    });
    this.#allocations = recording; // before any await, so no other profile starts
    return recording;
  }

  /**
   * The live memory allocated since the profiler was created, or since the last profile of allocations.
   *
   * @param collectsFirst runs the garbage collector first. @throws {UserError} a profile of allocations is running
   */
  async heap(collectsFirst = false): Promise<Uint8Array> {
    const session = await this.#session;
    if (this.#allocations !== undefined) throw busy();
    if (collectsFirst) await session.post("HeapProfiler.collectGarbage");
    const builder = memoryProfile("inuse_space");
    addMemory(builder, (await session.post("HeapProfiler.getSamplingProfile")).profile.head);
    return builder.encode(this.#liveSinceMs, this.#nowMs() - this.#liveSinceMs);
  }

  /** What keeps the event loop waiting, by kind: sockets, timers, requests to the file system. The nearest thing to goroutines. */
  goroutine(): Uint8Array {
    const type = { type: "goroutine", unit: "count" };
    const builder = new ProfileBuilder({ sampleTypes: [type], period: 1, periodType: type });
    for (const kind of process.getActiveResourcesInfo())
      builder.add([{ functionName: kind, file: "", startLine: 0, line: 0 }], [1]);
    return builder.encode(this.#startMs, this.#nowMs() - this.#startMs);
  }

  async #open(): Promise<Session> {
    const session = await newSession();
    await this.#sampleLive(session);
    return session;
  }

  async #sampleLive(session: Session): Promise<void> {
    await session.post("HeapProfiler.startSampling", { samplingInterval: HEAP_INTERVAL_BYTES });
    this.#liveSinceMs = this.#nowMs();
  }
}

const busy = (): UserError => new UserError("allocations are being recorded: try again when that has ended");

/** Loaded on demand: a program without profiles has no inspector. */
async function newSession(): Promise<Session> {
  const { Session } = await import("node:inspector/promises");
  const session = new Session();
  session.connect();
  return session;
}

interface Segments {
  start(): Promise<unknown>;
  /** Ends a segment, and adds it to the profile. */
  stop(): Promise<unknown>;
  close(): unknown;
}

function inSegments(builder: ProfileBuilder, nowMs: () => number, segments: Segments): Recording {
  const startMs = nowMs();
  // one step after another: a segment is not ended twice
  let steps: Promise<unknown> = segments.start();
  const next = (step: () => Promise<unknown>): Promise<unknown> => {
    steps = steps.then(step);
    return steps;
  };
  steps.catch(() => {}); // reported by `stop`
  const renew = async (): Promise<void> => {
    await segments.stop();
    await segments.start();
  };
  const timer = setInterval(() => void next(renew).catch(() => {}), SEGMENT_MS).unref();
  return {
    stop: async () => {
      clearInterval(timer);
      try {
        await next(() => segments.stop());
      } finally {
        await segments.close();
      }
      return builder.encode(startMs, nowMs() - startMs);
    },
  };
}

const memoryProfile = (type: string): ProfileBuilder =>
  new ProfileBuilder({
    sampleTypes: [{ type, unit: "bytes" }],
    period: HEAP_INTERVAL_BYTES,
    periodType: { type: "space", unit: "bytes" },
  });

type CallFrame = CpuProfiler.ProfileNode["callFrame"];

/** The inspector counts lines from 0. @param line from 1; default: where the function begins */
const frameOf = ({ functionName, url, lineNumber }: CallFrame, line = lineNumber + 1): Frame => ({
  functionName: functionName || "(anonymous)",
  file: url.replace(/^file:\/\//, ""),
  startLine: Math.max(0, lineNumber + 1),
  line: Math.max(0, line),
});

function addCpu(builder: ProfileBuilder, { nodes, samples = [], timeDeltas = [] }: CpuProfiler.Profile): void {
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const parents = new Map(nodes.flatMap(({ id, children = [] }) => children.map((child) => [child, id] as const)));
  const timesUs = new Map<number, number>();
  // a sample lasts until the next one
  for (const [index, id] of samples.entries()) timesUs.set(id, (timesUs.get(id) ?? 0) + Math.max(0, timeDeltas[index + 1] ?? 0));
  for (const node of nodes) {
    const { hitCount = 0, callFrame } = node;
    // the processor does nothing, or nothing for us
    if (hitCount === 0 || callFrame.functionName === "(idle)" || callFrame.functionName === "(root)") continue;
    const callers: Frame[] = [];
    for (let id = parents.get(node.id); id !== undefined; id = parents.get(id)) {
      const frame = byId.get(id)!.callFrame;
      if (frame.functionName !== "(root)") callers.push(frameOf(frame));
    }
    const timeNs = (timesUs.get(node.id) ?? 0) * 1000;
    const ticks = node.positionTicks ?? [{ line: callFrame.lineNumber + 1, ticks: hitCount }];
    for (const { line, ticks: count } of ticks) {
      builder.add([frameOf(callFrame, line), ...callers], [count, Math.round((timeNs * count) / hitCount)]);
    }
  }
}

function addMemory(builder: ProfileBuilder, head: HeapProfiler.SamplingHeapProfileNode): void {
  const open: { readonly node: HeapProfiler.SamplingHeapProfileNode; readonly callers: readonly Frame[] }[] = [
    { node: head, callers: [] },
  ];
  for (let at = open.pop(); at !== undefined; at = open.pop()) {
    const { callFrame, selfSize, children } = at.node;
    const stack = callFrame.functionName === "(root)" ? at.callers : [frameOf(callFrame), ...at.callers];
    if (selfSize > 0 && stack.length > 0) builder.add(stack, [Math.round(selfSize)]);
    for (const node of children) open.push({ node, callers: stack });
  }
}
