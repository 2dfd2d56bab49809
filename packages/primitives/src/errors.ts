/**
 * An error with a code from a closed set and small plain data (ids and numbers, never a state or a block).
 *
 * Each package declares its own codes as a union and throws `CodedError<ThatUnion>`; one table at the edge turns codes into
 * JSON-RPC errors, exit codes or verdicts.
 */
export class CodedError<Code extends string = string> extends Error {
  readonly code: Code;
  readonly data: Readonly<Record<string, string | number | bigint | boolean>>;

  constructor(code: Code, data: CodedError["data"] = {}, options?: ErrorOptions) {
    const fields = Object.entries(data).map(([key, value]) => ` ${key}=${value}`);
    super(code + fields.join(""), options);
    this.name = "CodedError";
    this.code = code;
    this.data = data;
  }
}

/** Narrows a caught value to a `CodedError`, optionally of one code or of a family ("rlp/" matches "rlp/truncated"). */
export function isCodedError(error: unknown, codeOrFamily?: string): error is CodedError {
  if (!(error instanceof CodedError)) return false;
  if (codeOrFamily === undefined) return true;
  return codeOrFamily.endsWith("/") ? error.code.startsWith(codeOrFamily) : error.code === codeOrFamily;
}
