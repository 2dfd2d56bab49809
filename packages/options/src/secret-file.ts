import { closeSync, openSync, readSync } from "node:fs";

/** A secret is a line: a device or a large file given by mistake is not read to its end. */
const MAX_BYTES = 4096;

/** The text of a file without the white space around it. */
export function readSecretFile(
  path: string,
): { readonly kind: "text"; readonly text: string } | { readonly kind: "unreadable"; readonly reason: string } {
  try {
    const file = openSync(path, "r");
    try {
      const bytes = Buffer.alloc(MAX_BYTES + 1);
      const length = readSync(file, bytes, 0, bytes.length, null);
      if (length > MAX_BYTES) return { kind: "unreadable", reason: `${path} is longer than ${MAX_BYTES} bytes` };
      return { kind: "text", text: bytes.toString("utf8", 0, length).trim() };
    } finally {
      closeSync(file);
    }
  } catch (error) {
    return { kind: "unreadable", reason: error instanceof Error ? error.message : String(error) };
  }
}
