import { type LabelValues, type MetricFactory, noMetrics } from "@rnode/observe";

/** Counters that can be read; gauges and histograms are not kept. */
export class Counts {
  /** by name and labels as JSON */
  readonly #counted = new Map<string, { readonly name: string; readonly labels: LabelValues; amount: number }>();

  readonly metrics: MetricFactory = {
    ...noMetrics,
    counter: ((name: string) => ({
      inc: (labels?: LabelValues) => this.#add(name, labels, 1),
      add: (amount: number, labels?: LabelValues) => this.#add(name, labels, amount),
    })) as MetricFactory["counter"],
  };

  /** The sum over all counters with these labels. */
  of(name: string, labels: LabelValues = {}): number {
    const wanted = Object.entries(labels);
    const matching = [...this.#counted.values()].filter(
      (each) => each.name === name && wanted.every(([label, value]) => each.labels[label] === value),
    );
    return matching.reduce((sum, { amount }) => sum + amount, 0);
  }

  #add(name: string, labels: LabelValues = {}, amount: number): void {
    const key = name + JSON.stringify(labels);
    const known = this.#counted.get(key);
    if (known === undefined) this.#counted.set(key, { name, labels, amount });
    else known.amount += amount;
  }
}
