import type { ComponentLogger, Logger } from "@libp2p/interface";

const quiet: Logger = Object.assign(() => {}, {
  enabled: false,
  error: () => {},
  trace: () => {},
  newScope: () => quiet,
});

/** Discards libp2p's log lines, a dozen for each stream, before they are formatted. rnode's own code logs the relevant events. */
export const quietLogger: ComponentLogger = { forComponent: () => quiet };
