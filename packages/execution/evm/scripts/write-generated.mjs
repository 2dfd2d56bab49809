import { readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const assembly = join(dirname(fileURLToPath(import.meta.url)), "..", "assembly");

/** Writes a generated file of assembly/; with `--check`, compares the result with the committed file instead, and fails if they differ. */
export function writeGenerated(path, text) {
  const file = join(assembly, path);
  if (!process.argv.includes("--check")) writeFileSync(file, text);
  else if (readFileSync(file, "utf8") !== text)
    throw new Error(`assembly/${path} is not what ${process.argv[1]} writes: run it again`);
}
