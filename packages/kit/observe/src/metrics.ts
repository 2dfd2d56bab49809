import { createRequire } from "node:module";
import type * as Prometheus from "prom-client";

/** Loaded with the first metrics: it takes 4 MiB of memory, and most programs run without. */
const loadPrometheus = (): typeof Prometheus => createRequire(import.meta.url)("prom-client") as typeof Prometheus;

export type LabelValues = Readonly<Record<string, string>>;
export type NoLabels = Readonly<Record<never, string>>;
/** If a metric has labels, their names must be listed: `m.counter<{ verdict: Verdict }>(name, help, ["verdict"])`. */
type LabelNames<L extends LabelValues> = keyof L extends never ? [] : [labels: readonly (keyof L & string)[]];
type Labels<L extends LabelValues> = keyof L extends never ? [] : [labels: L];

/** Only grows; the name ends in `_total`. */
export interface Counter<L extends LabelValues = NoLabels> {
  inc(...labels: Labels<L>): void;
  add(amount: number, ...labels: Labels<L>): void;
}

/** @typeParam V the unit, if its numbers have one in their type */
export interface Gauge<L extends LabelValues = NoLabels, V extends number = number> {
  set(value: V, ...labels: Labels<L>): void;
}

/** The name ends in the unit: `_seconds`, `_bytes`. */
export interface Histogram<L extends LabelValues = NoLabels> {
  observe(value: number, ...labels: Labels<L>): void;
  /** Starts a timer; the returned function observes the seconds that have passed. */
  time(...labels: Labels<L>): () => void;
}

/** Each component declares its metrics next to its code: `createDeriveMetrics(m: MetricFactory)`. */
export interface MetricFactory {
  counter<L extends LabelValues = NoLabels>(name: string, help: string, ...labels: LabelNames<L>): Counter<L>;
  gauge<L extends LabelValues = NoLabels, V extends number = number>(
    name: string,
    help: string,
    ...labels: LabelNames<L>
  ): Gauge<L, V>;
  /** A gauge whose value is read when the metrics are collected. */
  gaugeOf(name: string, help: string, read: () => number): void;
  /** The same with labels: all values at the moment of collection. */
  gaugesOf<L extends LabelValues>(
    name: string,
    help: string,
    labels: readonly (keyof L & string)[],
    read: () => Iterable<readonly [labels: L, value: number]>,
  ): void;
  histogram<L extends LabelValues = NoLabels>(
    name: string,
    help: string,
    buckets: readonly number[],
    ...labels: LabelNames<L>
  ): Histogram<L>;
}

export interface MetricDescription {
  readonly name: string;
  readonly kind: "counter" | "gauge" | "histogram";
  readonly help: string;
  readonly labels: readonly string[];
  /** names of other programs under which it is exposed as well */
  readonly aliases: readonly string[];
}

export interface Metrics extends MetricFactory {
  /** in order of declaration; the default metrics of the process are not listed */
  readonly descriptions: readonly MetricDescription[];
  /** Prometheus text exposition format. @param others metrics of other processes, told apart by their labels */
  expose(others?: readonly CollectedMetrics[]): Promise<{ readonly contentType: string; readonly body: string }>;
  /** The metrics as plain data, to be exposed by another process. */
  collect(): Promise<CollectedMetrics>;
}

/** Metrics of one process with their values. */
export type CollectedMetrics = readonly object[];

export interface MetricsOptions {
  /** of every name, with its underscore: `rnode_` */
  readonly prefix: string;
  /** added to every value, to tell several processes apart */
  readonly labels?: LabelValues | undefined;
  /** Whether the metrics of the process (memory, CPU, event loop) are among them; default true. Off in a thread: the process has them. */
  readonly ofProcess?: boolean | undefined;
  /** Under which other names a metric is exposed, because dashboards know it so. @param name without the prefix */
  readonly aliasesOf?: ((name: string) => readonly string[]) | undefined;
}

/** @throws Error if two metrics have the same name, which is a programming error */
export function createMetrics({ prefix, labels: everywhere, ofProcess = true, aliasesOf = NO_ALIASES }: MetricsOptions): Metrics {
  const prometheus = loadPrometheus();
  const registry = new prometheus.Registry();
  if (everywhere !== undefined) registry.setDefaultLabels(everywhere);
  if (ofProcess) prometheus.collectDefaultMetrics({ register: registry });
  const descriptions: MetricDescription[] = [];
  const declare = (kind: MetricDescription["kind"], name: string, help: string, labels: readonly string[] = []) => {
    const fullName = prefix + name;
    descriptions.push({ name: fullName, kind, help, labels, aliases: aliasesOf(name) });
    return { name: fullName, help, labelNames: [...labels], registers: [registry] };
  };
  return {
    descriptions,
    counter: (name, help, ...[labels]) => {
      const counter = new prometheus.Counter(declare("counter", name, help, labels));
      if (labels === undefined) counter.inc(0);
      return {
        inc: (...[values]) => counter.inc(values ?? {}, 1),
        add: (amount, ...[values]) => counter.inc(values ?? {}, amount),
      };
    },
    gauge: (name, help, ...[labels]) => {
      const gauge = new prometheus.Gauge(declare("gauge", name, help, labels));
      return { set: (value, ...[values]) => gauge.set(values ?? {}, value) };
    },
    gaugeOf: (name, help, read) => {
      new prometheus.Gauge({
        ...declare("gauge", name, help),
        collect() {
          this.set(read());
        },
      });
    },
    gaugesOf: (name, help, labels, read) => {
      new prometheus.Gauge({
        ...declare("gauge", name, help, labels),
        collect() {
          this.reset();
          for (const [values, value] of read()) this.set(values, value);
        },
      });
    },
    histogram: (name, help, buckets, ...[labels]) => {
      const histogram = new prometheus.Histogram({ ...declare("histogram", name, help, labels), buckets: [...buckets] });
      return {
        observe: (value, ...[values]) => histogram.observe(values ?? {}, value),
        time: (...[values]) => {
          const startMs = performance.now();
          return () => histogram.observe(values ?? {}, (performance.now() - startMs) / 1000);
        },
      };
    },
    expose: async (others = []) => ({
      contentType: registry.contentType,
      body:
        others.length === 0 && aliasesOf === NO_ALIASES
          ? await registry.metrics()
          : await merged([await registry.getMetricsAsJSON(), ...others], (name) =>
              name.startsWith(prefix) ? aliasesOf(name.slice(prefix.length)) : [],
            ),
    }),
    collect: () => registry.getMetricsAsJSON(),
  };
}

const NO_ALIASES = (): readonly string[] => [];

type Collected = Prometheus.MetricObjectWithValues<Prometheus.MetricValueWithName<string>>;

/** A metric has one heading for the values of all processes, and another one for each of its aliases. */
function merged(processes: readonly CollectedMetrics[], aliasesOf: (fullName: string) => readonly string[]): Promise<string> {
  const byName = new Map<string, Collected>();
  for (const metric of processes.flat() as Collected[]) {
    const known = byName.get(metric.name);
    byName.set(metric.name, known === undefined ? metric : { ...known, values: [...known.values, ...metric.values] });
  }
  const registry = new (loadPrometheus().Registry)();
  // The registry prints any object that has a name and returns its values.
  const print = (metric: Collected): void =>
    registry.registerMetric({ ...metric, get: async () => metric } as unknown as Prometheus.Metric);
  for (const metric of byName.values()) {
    print(metric);
    for (const alias of aliasesOf(metric.name)) print(renamed(metric, alias));
  }
  return registry.metrics();
}

/** The same values with further labels. */
export const withLabels = (metrics: CollectedMetrics, labels: LabelValues): CollectedMetrics =>
  (metrics as Collected[]).map((metric) => ({
    ...metric,
    values: metric.values.map((value) => ({ ...value, labels: { ...value.labels, ...labels } })),
  }));

/** The values of a histogram have separate names. */
function renamed(metric: Collected, name: string): Collected {
  const values = metric.values.map(({ metricName, ...value }) => ({
    ...value,
    ...(metricName !== undefined && { metricName: name + metricName.slice(metric.name.length) }),
  }));
  return { ...metric, name, help: `As ${metric.name}: ${metric.help}`, values } as Collected;
}

/** For metrics that are switched off: every call does nothing. */
export const noMetrics: MetricFactory = {
  counter: () => ({ inc: () => {}, add: () => {} }),
  gauge: () => ({ set: () => {} }),
  gaugeOf: () => {},
  gaugesOf: () => {},
  histogram: () => ({ observe: () => {}, time: () => () => {} }),
};
