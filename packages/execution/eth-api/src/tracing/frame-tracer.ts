import { type Frame, FrameRecorder } from "./frames.ts";
import { withDetail } from "./tracers.ts";
import type { TraceOutcome, TransactionTracer } from "./transaction-tracer.ts";

/** A frame with its depth and whether it, or a frame around it, failed. */
export interface PlacedFrame {
  readonly frame: Frame;
  /** 0: the transaction's own message */
  readonly depth: number;
  readonly isUndone: boolean;
}

/** Gives a transaction's messages as they are, in the order of their beginning. */
class FrameTracer extends FrameRecorder implements TransactionTracer {
  result(outcome: TraceOutcome): PlacedFrame[] {
    const frames: PlacedFrame[] = [];
    const add = (frame: Frame, depth: number, isInFailed: boolean): void => {
      const isUndone = isInFailed || frame.halt !== undefined;
      frames.push({ frame, depth, isUndone });
      for (const call of frame.calls) add(call, depth + 1, isUndone);
    };
    add(this.root(outcome), 0, outcome.halt !== undefined);
    return frames;
  }
}

/** Its results are `PlacedFrame[]`. */
export const newFrameTracer = withDetail("messages", () => new FrameTracer());
