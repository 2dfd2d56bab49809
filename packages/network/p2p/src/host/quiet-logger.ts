import type { ComponentLogger, Logger } from "@libp2p/interface";

const quiet: Logger = Object.assign(() => {}, {
  enabled: false,
  error: () => {},
  trace: () => {},
  newScope: () => quiet,
});

/** libp2p's own log lines, a dozen for each stream, are not even formatted: what matters is said by our own code. */
export const quietLogger: ComponentLogger = { forComponent: () => quiet };
