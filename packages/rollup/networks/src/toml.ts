import { parse, TomlError } from "smol-toml";
import { RegistryError } from "./registry-error.ts";

/** Nesting of arrays and inline tables; the registry's files have none of them within each other. */
const MAX_DEPTH = 16;

/**
 * The content of a TOML file as plain objects. Integers beyond 2^53 are `bigint`; dates are `TomlDate` objects of the TOML
 * library.
 *
 * @param file its name, for errors
 * @throws {RegistryError} registry/not-toml
 */
export function parseToml(bytes: Uint8Array, file: string): Readonly<Record<string, unknown>> {
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    return parse(text, { integersAsBigInt: "asNeeded", maxDepth: MAX_DEPTH, unsafeKeyBehaviour: "throw" });
  } catch (cause) {
    if (!(cause instanceof TomlError) && !(cause instanceof TypeError)) throw cause;
    const where = cause instanceof TomlError ? ` at line ${cause.line}, column ${cause.column}` : "";
    throw new RegistryError("registry/not-toml", { file, reason: `${cause.message.split("\n")[0]}${where}` }, { cause });
  }
}
