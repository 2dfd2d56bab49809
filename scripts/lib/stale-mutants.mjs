// Mutants name the code that they change: it must be there, once.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "./stamp.mjs";

/** Ends the process with code 1 if one of the mutants no longer fits the sources. */
export function reportStale(mutants) {
  const stale = mutants.filter(({ file, from }) => readFileSync(join(ROOT, file), "utf8").split(from).length !== 2);
  for (const { rule, file, from } of stale) console.error(`mutant "${rule}": "${from}" must occur exactly once in ${file}`);
  if (stale.length > 0) process.exit(1);
}
