/** Bounds the memory of incoming answers: beyond the limit, the largest one is aborted. */
export class MemoryBudget {
  private readonly maxBytes: number;
  private readonly holders = new Map<AbortController, number>();
  private bytes = 0;

  constructor(maxBytes: number) {
    this.maxBytes = maxBytes;
  }

  get usedBytes(): number {
    return this.bytes;
  }

  hold(holder: AbortController, bytes: number): void {
    this.bytes += bytes - (this.holders.get(holder) ?? 0);
    this.holders.set(holder, bytes);
    if (this.bytes <= this.maxBytes) return;
    let [largest] = this.holders;
    for (const entry of this.holders) if (entry[1] > largest![1]) largest = entry;
    this.release(largest![0]);
    largest![0].abort();
  }

  release(holder: AbortController): void {
    this.bytes -= this.holders.get(holder) ?? 0;
    this.holders.delete(holder);
  }
}
