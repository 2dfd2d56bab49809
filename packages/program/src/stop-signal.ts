/** How long after the first signal another one of the same name still counts as the same request: a terminal and a supervisor may both send it. */
const SAME_REQUEST_MS = 500;

export interface StopSignal {
  /** Settles with the first SIGINT or SIGTERM. */
  readonly asked: Promise<NodeJS.Signals>;
  /** For a program that ends for another reason: signals have their default effect again. After a request it does nothing. */
  forget(): void;
}

/**
 * Listens for the request to stop. The first signal asks for a clean shutdown. The same again, later, ends the process at once with
 * exit code 1; a terminal's SIGINT and a supervisor's SIGTERM in the same moment are one request.
 */
export function listenForStop(): StopSignal {
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
      process.exit(1);
    }
  };
  process.on("SIGINT", onSignal);
  process.on("SIGTERM", onSignal);
  return {
    asked,
    forget() {
      if (first !== undefined) return; // a second signal while closing still ends the process
      process.off("SIGINT", onSignal);
      process.off("SIGTERM", onSignal);
    },
  };
}
