import { isNewerL1 } from "@rnode/l1";

/** What a part of the driver reports after its turn. */
export type Progress =
  /** something was done, and there may be more to do at once */
  | { readonly kind: "progress" }
  /** nothing to do until something new arrives */
  | { readonly kind: "idle" }
  | Trouble;

/** The kind of trouble follows from its cause, and decides what the driver does next. */
export type Trouble =
  /** try again, with growing pauses */
  | {
      readonly kind: "temporary";
      readonly reason: string;
      readonly retryAfterMs?: number | undefined;
      readonly hasTimedOut?: boolean;
      /** a warning with the remedy was logged before */
      readonly isSaid?: boolean;
    }
  /** the heads in memory may be wrong: find them again */
  | { readonly kind: "reset"; readonly reason: string }
  /** stop the node: an operator has to act */
  | { readonly kind: "critical"; readonly reason: string };

export const PROGRESS = { kind: "progress" } as const;
export const IDLE = { kind: "idle" } as const;

export const temporary = (reason: string, retryAfterMs?: number): Trouble => ({ kind: "temporary", reason, retryAfterMs });
/** @param part for example "finality" */
export const temporaryBy = (error: Error, part?: string): Trouble => ({
  kind: "temporary",
  reason: part === undefined ? error.message : `${part}: ${error.message}`,
  isSaid: isNewerL1(error),
});
export const reset = (reason: string): Trouble => ({ kind: "reset", reason });
export const critical = (reason: string): Trouble => ({ kind: "critical", reason });
