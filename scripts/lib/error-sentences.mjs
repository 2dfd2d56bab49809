import { readFileSync } from "node:fs";
import { packageFiles } from "./workspace.mjs";

/** The sentences of all errors that people read (`codedErrors` in packages/base/primitives), by code. */
export function errorSentences() {
  const sentences = new Map();
  for (const path of packageFiles()) {
    if (!path.endsWith(".ts") || path.endsWith(".test.ts")) continue;
    const text = readFileSync(path, "utf8");
    for (const [, body] of text.matchAll(/codedErrors<[\w, ]+>\(([\s\S]*?)\n\}?\)/g)) {
      for (const [, code, parts] of body.matchAll(/"([a-z0-9-]+\/[a-z0-9-]+)":\s*((?:"(?:[^"\\]|\\.)*"(?:\s*\+\s*)?)+)/g)) {
        const pieces = [...parts.matchAll(/"((?:[^"\\]|\\.)*)"/g)].map(([quoted]) => JSON.parse(quoted));
        sentences.set(code, pieces.join(""));
      }
    }
  }
  return sentences;
}
