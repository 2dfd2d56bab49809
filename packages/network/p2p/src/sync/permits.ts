/** A semaphore of `capacity` units, first come, first served. */
export class Permits {
  private free: number;
  private readonly capacity: number;
  private readonly waiting: { readonly units: number; readonly grant: () => void }[] = [];

  constructor(capacity: number) {
    this.capacity = capacity;
    this.free = capacity;
  }

  /**
   * Waits for `units`, at most the capacity. @returns a function that releases them; `undefined`: the signal was aborted first
   */
  async acquire(units: number, signal: AbortSignal): Promise<(() => void) | undefined> {
    if (signal.aborted) return undefined;
    const taken = Math.min(units, this.capacity);
    if (this.waiting.length > 0 || taken > this.free) {
      const isGranted = await new Promise<boolean>((resolve) => {
        const leave = (): void => {
          this.waiting.splice(this.waiting.indexOf(place), 1);
          resolve(false);
          this.grantNext();
        };
        const grant = (): void => {
          signal.removeEventListener("abort", leave);
          resolve(true);
        };
        const place = { units: taken, grant };
        this.waiting.push(place);
        signal.addEventListener("abort", leave, { once: true });
      });
      if (!isGranted) return undefined;
    } else this.free -= taken;
    let isHeld = true;
    return () => {
      if (!isHeld) return;
      isHeld = false;
      this.free += taken;
      this.grantNext();
    };
  }

  private grantNext(): void {
    for (let next = this.waiting[0]; next !== undefined && next.units <= this.free; next = this.waiting[0]) {
      this.waiting.shift();
      this.free -= next.units;
      next.grant();
    }
  }
}
