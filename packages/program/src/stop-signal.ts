/** A repeated signal within this time counts as the same request: a terminal and a supervisor may both send it. */
const SAME_REQUEST_MS = 500;

/** Closing the terminal asks for the same thing as Ctrl-C and a supervisor's SIGTERM. */
const STOP_SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

export interface StopSignal {
  /** Settles with the first signal. */
  readonly asked: Promise<NodeJS.Signals>;
  /** Restores the default effect of the signals, for a program that has ended. */
  forget(): void;
}

/**
 * Listens for the request to stop. The first signal asks for a clean shutdown. A second one, later, ends the process at
 * once; a terminal's SIGINT and a supervisor's SIGTERM at the same moment are one request.
 *
 * @param endNow ends the process
 */
export function listenForStop(endNow: (signal: NodeJS.Signals) => void): StopSignal {
  let first: { readonly name: NodeJS.Signals; readonly atMs: number } | undefined;
  let resolveAsked: (signal: NodeJS.Signals) => void = () => {};
  const asked = new Promise<NodeJS.Signals>((resolve) => {
    resolveAsked = resolve;
  });
  const onSignal = (name: NodeJS.Signals): void => {
    if (first === undefined) {
      first = { name, atMs: performance.now() };
      resolveAsked(name);
    } else if (first.name === name && performance.now() - first.atMs > SAME_REQUEST_MS) {
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
