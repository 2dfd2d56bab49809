// The mutants of `npm run mutants` still fit the sources.
import { MUTANTS } from "./lib/mutants.mjs";
import { reportStale } from "./lib/stale-mutants.mjs";

reportStale(MUTANTS);
