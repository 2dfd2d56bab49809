/** A repeated signal within this time counts as the same request: a terminal and a supervisor may both send it. */
const SAME_REQUEST_MS = 500;

/** A closed terminal, Ctrl-C and a supervisor's SIGTERM all request a stop. */
const STOP_SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

export interface StopSignal {
  /** Settles with the first signal. */
  readonly asked: Promise<NodeJS.Signals>;
  /** Restores the default effect of the signals, for a program that has ended. */
  forget(): void;
}

/**
 * Listens for stop signals. The first signal starts a clean shutdown. A later second one ends the process at once; a terminal's
 * SIGINT and a supervisor's SIGTERM at the same moment count as one.
 *
 * @param endNow ends the process
 */
export function listenForStop(endNow: (signal: NodeJS.Signals) => void): StopSignal {
  /** when the first signal came, and the names by which it was asked: two signals at the same moment may arrive in either order */
  let request: { readonly atMs: number; readonly names: Set<NodeJS.Signals> } | undefined;
  let resolveAsked: (signal: NodeJS.Signals) => void = () => {};
  const asked = new Promise<NodeJS.Signals>((resolve) => {
    resolveAsked = resolve;
  });
  const onSignal = (name: NodeJS.Signals): void => {
    const nowMs = performance.now();
    if (request === undefined) {
      request = { atMs: nowMs, names: new Set([name]) };
      resolveAsked(name);
    } else if (nowMs - request.atMs <= SAME_REQUEST_MS) {
      request.names.add(name);
    } else if (request.names.has(name)) {
      endNow(name);
    }
  };
  for (const name of STOP_SIGNALS) process.on(name, onSignal);
  return {
    asked,
    forget() {
      for (const name of STOP_SIGNALS) process.off(name, onSignal);
    },
  };
}

/**
 * For a process that another of our programs starts: signals reach the whole process group, but the parent decides when
 * the child ends.
 */
export function leaveStopToParent(): void {
  for (const name of STOP_SIGNALS) process.on(name, () => {});
}
