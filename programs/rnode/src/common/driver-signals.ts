import { Alarm } from "@rnode/primitives";

/** What the other parts ask of the driver, which is made after them: a turn at once, or a search for the heads. */
export class DriverSignals {
  /** Rings when a part asks for a turn. The driver takes a new one at the start of each turn. */
  alarm = new Alarm();
  /** Why the heads have to be found; `undefined` in normal operation. */
  resetReason: string | undefined = "start";

  /** Something arrived: start the next turn now. */
  wake(): void {
    this.alarm.ring();
  }

  /** The first reason stays until the heads are found. */
  requestReset(reason: string): void {
    this.resetReason ??= reason;
    this.wake();
  }
}
