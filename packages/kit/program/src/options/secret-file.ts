import { closeSync, fstatSync, openSync, readSync } from "node:fs";

/** A secret is a line: a device or a large file given by mistake is not read to its end. */
const MAX_BYTES = 4096;

export type SecretFile =
  /** `isExposed`: others than the owner may read it */
  | { readonly kind: "text"; readonly text: string; readonly isExposed: boolean }
  | { readonly kind: "unreadable"; readonly reason: string };

/** The text of a file without the white space around it. */
export function readSecretFile(path: string): SecretFile {
  try {
    const file = openSync(path, "r");
    try {
      const bytes = Buffer.alloc(MAX_BYTES + 1);
      const length = readSync(file, bytes, 0, bytes.length, null);
      if (length > MAX_BYTES) return { kind: "unreadable", reason: `${path} is longer than ${MAX_BYTES} bytes` };
      const isExposed = process.platform !== "win32" && (fstatSync(file).mode & 0o077) !== 0;
      return { kind: "text", text: bytes.toString("utf8", 0, length).trim(), isExposed };
    } finally {
      closeSync(file);
    }
  } catch (error) {
    return { kind: "unreadable", reason: error instanceof Error ? error.message : String(error) };
  }
}
