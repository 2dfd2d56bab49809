import { systemClock } from "@rnode/program";

/** seconds since the epoch */
export const nowSec = (): number => Math.floor(systemClock.unixMs() / 1000);
