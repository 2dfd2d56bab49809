import type { Attack } from "./attack.ts";
import * as costly from "./costly.ts";

/** All attacks, in no particular order. */
export const ATTACKS: readonly Attack[] = [...Object.values(costly)];
