/** What a part of the driver says after its turn. */
export type Progress =
  /** something was done: there may be more to do at once */
  | { readonly kind: "progress" }
  /** nothing to do until something new arrives */
  | { readonly kind: "idle" }
  | Trouble;

/** How bad it is, which says what the driver does next. It follows from the cause. */
export type Trouble =
  /** try again, after a pause that grows */
  | { readonly kind: "temporary"; readonly reason: string; readonly retryAfterMs?: number | undefined }
  /** what we believe of the chain does not hold: find the heads again */
  | { readonly kind: "reset"; readonly reason: string }
  /** stop the node: an operator has to act */
  | { readonly kind: "critical"; readonly reason: string };

export const PROGRESS = { kind: "progress" } as const;
export const IDLE = { kind: "idle" } as const;

export const temporary = (reason: string, retryAfterMs?: number): Trouble => ({ kind: "temporary", reason, retryAfterMs });
export const reset = (reason: string): Trouble => ({ kind: "reset", reason });
export const critical = (reason: string): Trouble => ({ kind: "critical", reason });
