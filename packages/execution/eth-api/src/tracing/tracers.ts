import type { EvmTracer, TraceDetail, TraceMessage, TraceResult } from "@rnode/evm";
import { booleanShape, objectShape, rpcErrorOf, type Shape, ShapeError } from "@rnode/jsonrpc";
import type { BlockRules } from "@rnode/protocol";
import type { JsonObject } from "../json/transaction-json.ts";
import type { TraceRequest } from "../params/trace-options.ts";
import type { Profile } from "../profile/profile.ts";
import { CallTracer, FourByteTracer } from "./call-tracer.ts";
import { FlatCallTracer } from "./flat-trace.ts";
import { precompileTest } from "./precompile-addresses.ts";
import { PrestateTracer } from "./prestate-tracer.ts";
import { StructLogger } from "./struct-logger.ts";
import type { TraceContext, TraceOutcome, TransactionTracer } from "./transaction-tracer.ts";

/** Creates the tracer for one transaction. */
export interface TracerFactory {
  (rules: BlockRules): TransactionTracer;
  /** which instructions its tracers want; default: all steps. PERF: without any, the block runs as fast as untraced */
  readonly detail?: TraceDetail | undefined;
}

export const withDetail = (detail: TraceDetail, create: (rules: BlockRules) => TransactionTracer): TracerFactory =>
  Object.assign(create, { detail });

/** What serves all of several tracers. */
export function widestDetail(factories: readonly Pick<TracerFactory, "detail">[]): TraceDetail {
  const wanted = new Set(factories.map(({ detail = "steps" }) => detail));
  return wanted.has("steps") ? "steps" : wanted.has("touches") ? "touches" : "messages";
}

const NATIVE_TRACERS = ["callTracer", "prestateTracer", "flatCallTracer", "4byteTracer", "muxTracer", "noopTracer"] as const;
const MAX_SHOWN_NAME = 60;
/** Something that is not a tracer's name may be a whole program. */
const shortened = (name: string): string => (name.length > MAX_SHOWN_NAME ? `${name.slice(0, MAX_SHOWN_NAME - 1)}…` : name);

const callConfig = objectShape({}, { onlyTopCall: booleanShape, withLog: booleanShape });
const prestateConfig = objectShape(
  {},
  { diffMode: booleanShape, disableCode: booleanShape, disableStorage: booleanShape, includeEmpty: booleanShape },
);
const flatConfig = objectShape({}, { convertParityErrors: booleanShape, includePrecompiles: booleanShape });

type Flags<T> = { readonly [K in keyof T]-?: boolean };
const flags = <T extends Readonly<Record<string, boolean | undefined>>>(given: T): Flags<T> =>
  Object.fromEntries(Object.entries(given).map(([name, value]) => [name, value ?? false])) as Flags<T>;

const NOOP: TransactionTracer = { result: () => ({}) };

/**
 * Creates the factory for the tracer that a request names, and parses its configuration.
 *
 * @throws {RpcError} unsupported tracer or invalid configuration, in the profile's words
 */
export function tracerFactory(profile: Profile, request: TraceRequest): TracerFactory {
  const { tracer, ...options } = request;
  if (tracer === undefined) return () => new StructLogger(options, profile.traces);
  return namedFactory(profile, tracer, request.tracerConfig);
}

function namedFactory(profile: Profile, name: string, config: unknown, isPart = false): TracerFactory {
  const dialect = profile.traces;
  const read = <T>(shape: Shape<T>): T => readConfig(profile, shape, config);
  switch (name as (typeof NATIVE_TRACERS)[number]) {
    case "callTracer": {
      const own = { ...flags(read(callConfig)), isPart };
      return withDetail("messages", () => new CallTracer(own, dialect));
    }
    case "prestateTracer": {
      const own = flags(read(prestateConfig));
      if (own.diffMode && own.includeEmpty) {
        throw rpcErrorOf(profile.errors.invalidTracerConfig("cannot use diffMode with includeEmpty"));
      }
      return withDetail("touches", () => new PrestateTracer(own, dialect));
    }
    case "flatCallTracer": {
      const own = { ...flags(read(flatConfig)), isPart };
      return withDetail("messages", (rules) => new FlatCallTracer(own, dialect, precompileTest(rules)));
    }
    case "4byteTracer":
      return withDetail("messages", (rules) => new FourByteTracer(dialect.countsPrecompiles ? () => false : precompileTest(rules)));
    case "noopTracer":
      return withDetail("messages", () => NOOP);
    case "muxTracer": {
      const parts = Object.entries(read(objectShape({}, {})) && ((config ?? {}) as object));
      const factories = parts.map(([part, own]) => [part, namedFactory(profile, part, own, true)] as const);
      return withDetail(
        widestDetail(factories.map(([, factory]) => factory)),
        (rules) => new MuxTracer(factories.map(([part, factory]) => [part, factory(rules)])),
      );
    }
    default:
      throw rpcErrorOf(profile.errors.unsupportedTracer(shortened(name), NATIVE_TRACERS));
  }
}

function readConfig<T>(profile: Profile, shape: Shape<T>, config: unknown): T {
  try {
    return shape.parse(config ?? {});
  } catch (error) {
    if (error instanceof ShapeError) throw rpcErrorOf(profile.errors.invalidTracerConfig(error.message));
    throw error;
  }
}

/** Geth's `muxTracer`: several tracers in one run, with results keyed by name. */
class MuxTracer implements TransactionTracer, EvmTracer {
  readonly #parts: readonly (readonly [name: string, tracer: TransactionTracer])[];
  /** undefined if no part needs it, as with `onLog` */
  readonly onStep: EvmTracer["onStep"];
  readonly onLog: EvmTracer["onLog"];

  constructor(parts: readonly (readonly [string, TransactionTracer])[]) {
    this.#parts = parts;
    const steps = parts.flatMap(([, part]) => (part.onStep === undefined ? [] : [part]));
    if (steps.length > 0) {
      this.onStep = (step) => {
        for (const part of steps) part.onStep!(step);
      };
    }
    const logs = parts.flatMap(([, part]) => (part.onLog === undefined ? [] : [part]));
    if (logs.length > 0) {
      this.onLog = (address, topics, data) => {
        for (const part of logs) part.onLog!(address, topics, data);
      };
    }
  }

  onStart(context: TraceContext): void {
    for (const [, part] of this.#parts) part.onStart?.(context);
  }

  onEnter(message: TraceMessage): void {
    for (const [, part] of this.#parts) part.onEnter?.(message);
  }

  onExit(result: TraceResult): void {
    for (const [, part] of this.#parts) part.onExit?.(result);
  }

  onSelfDestruct(self: Uint8Array, beneficiary: Uint8Array, balance: bigint): void {
    for (const [, part] of this.#parts) part.onSelfDestruct?.(self, beneficiary, balance);
  }

  heldBytes(): number {
    return this.#parts.reduce((sum, [, part]) => sum + (part.heldBytes?.() ?? 0), 0);
  }

  result(outcome: TraceOutcome): JsonObject {
    return Object.fromEntries(this.#parts.map(([name, part]) => [name, part.result(outcome)]));
  }
}
