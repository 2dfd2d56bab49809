import { readFileSync } from "node:fs";
import { filesBelow } from "./stamp.mjs";

/** The sentences of all errors that people read (`codedErrors` in packages/primitives), by code. */
export function errorSentences(root) {
  const sentences = new Map();
  for (const path of filesBelow(`${root}/packages`)) {
    if (!path.endsWith(".ts") || path.endsWith(".test.ts")) continue;
    const text = readFileSync(path, "utf8");
    for (const [, body] of text.matchAll(/codedErrors<\w+>\(\{([\s\S]*?)\n\}\)/g)) {
      for (const [, code, parts] of body.matchAll(/"([a-z0-9-]+\/[a-z0-9-]+)":\s*((?:"(?:[^"\\]|\\.)*"(?:\s*\+\s*)?)+)/g)) {
        const pieces = [...parts.matchAll(/"((?:[^"\\]|\\.)*)"/g)].map(([quoted]) => JSON.parse(quoted));
        sentences.set(code, pieces.join(""));
      }
    }
  }
  return sentences;
}
