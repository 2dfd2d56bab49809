import { fileURLToPath } from "node:url";

// Relative to this file, which is one folder below the package both in dist and in lib.

/** What `scripts/build.mjs` compiled from `contracts/`. */
export const CONTRACT_BUNDLE = new URL("../build/contracts.json", import.meta.url);

/** @param path below `programs/` */
export const programPath = (path: string): string => fileURLToPath(new URL(`../../${path}`, import.meta.url));
