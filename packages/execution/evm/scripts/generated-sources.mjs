// The unrolled arithmetic that the sources in assembly/ import. It exists only during compilation; to read it:
// node packages/execution/evm/scripts/generated-sources.mjs FOLDER
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { blsSources } from "./generate-bls12-381.mjs";
import { fieldSources } from "./generate-field.mjs";
import { modexpSource } from "./generate-modexp.mjs";

/** Texts by their paths in assembly/. `-native` files are for the compilation to native code, see native-field.mjs. */
export const GENERATED = { ...fieldSources(), ...blsSources(), ...modexpSource() };

const folder = process.argv[2];
if (folder !== undefined && resolve(process.argv[1]) === fileURLToPath(import.meta.url)) {
  for (const [path, text] of Object.entries(GENERATED)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
}
