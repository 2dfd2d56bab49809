type ErrorData = Readonly<Record<string, string | number | bigint | boolean>>;

interface CodedErrorOptions extends ErrorOptions {
  readonly sentence?: string | undefined;
  readonly isCritical?: boolean;
}

/**
 * An error with a code from a closed set and small plain data (ids and numbers, never a state or a block).
 *
 * Code handles errors by code: tables map codes to JSON-RPC errors, exit codes or verdicts. The message is a sentence for people
 * and does not contain the code. Each package declares its codes as a union. Errors that operators see have a class with a
 * sentence for each code (`codedErrors`).
 */
export class CodedError<Code extends string = string> extends Error {
  readonly code: Code;
  readonly data: ErrorData;
  /** whether a retry cannot help, so an operator must act */
  readonly isCritical: boolean;

  /** @param options `sentence`: the message, with the names of data in braces; by default derived from the code */
  constructor(code: Code, data: ErrorData = {}, { sentence, isCritical = false, ...options }: CodedErrorOptions = {}) {
    super(filledIn(sentence ?? wordsOf(code), data), options);
    this.name = "CodedError";
    this.code = code;
    this.data = data;
    this.isCritical = isCritical;
  }
}

/** The constructor parameters of `CodedError`, without the sentence. */
type CodedErrorClass<Code extends string> = new (code: Code, data?: ErrorData, options?: ErrorOptions) => CodedError<Code>;

/**
 * A class of errors whose codes have sentences: `class ChainError extends codedErrors<ChainErrorCode>({ … }) {}`.
 *
 * @param sentences by code, with the names of data in braces; other data is appended in parentheses, then the `reason`
 * @param ofCritical the sentences of critical errors
 */
export function codedErrors<Code extends string, Critical extends Code = never>(
  sentences: Readonly<Record<Exclude<Code, Critical>, string>>,
  ofCritical?: Readonly<Record<Critical, string>>,
): CodedErrorClass<Code> {
  const all: Readonly<Record<string, string>> = { ...sentences, ...ofCritical };
  return class extends CodedError<Code> {
    constructor(code: Code, data?: ErrorData, options?: ErrorOptions) {
      super(code, data, { ...options, sentence: all[code], isCritical: ofCritical !== undefined && code in ofCritical });
    }
  };
}

/** Families that are abbreviations. */
const FAMILIES: Readonly<Record<string, string>> = { rlp: "RLP", tx: "transaction", "l1-info": "L1 attributes", evm: "EVM" };

/** "rlp/trailing-bytes": "RLP: trailing bytes". */
function wordsOf(code: string): string {
  const [family = "", name = ""] = code.split("/");
  return `${FAMILIES[family] ?? family.replaceAll("-", " ")}: ${name.replaceAll("-", " ")}`;
}

function filledIn(sentence: string, data: ErrorData): string {
  const named = new Set<string>();
  const text = sentence.replace(/\{(\w+)\}/g, (_, name: string) => {
    named.add(name);
    return String(data[name] ?? `unknown ${name}`);
  });
  const rest = Object.entries(data).filter(([name]) => !named.has(name));
  const reason = rest.find(([name]) => name === "reason");
  const others = rest.flatMap(([name, value]) => (name === "reason" ? [] : [`${name} ${value}`]));
  return `${text}${others.length === 0 ? "" : ` (${others.join(", ")})`}${reason === undefined ? "" : `: ${reason[1]}`}`;
}

/** Whether a retry cannot help after this error. All other errors are temporary. */
export const isCriticalError = (error: unknown): boolean => error instanceof CodedError && error.isCritical;

/** Narrows a caught value to a `CodedError`, optionally with one code or a family of codes ("rlp/" matches "rlp/truncated"). */
export function isCodedError(error: unknown, codeOrFamily?: string): error is CodedError {
  if (!(error instanceof CodedError)) return false;
  if (codeOrFamily === undefined) return true;
  return codeOrFamily.endsWith("/") ? error.code.startsWith(codeOrFamily) : error.code === codeOrFamily;
}

/** An error of the operating system, as Node's modules throw it. */
interface SystemError extends Error {
  /** such as ENOENT */
  readonly code: string;
  readonly syscall: string;
}

/** Narrows a caught value to an error of the operating system, optionally with one of these codes. */
export function isSystemError(error: unknown, ...codes: readonly string[]): error is SystemError {
  if (!(error instanceof Error && "syscall" in error && "code" in error)) return false;
  return codes.length === 0 || codes.includes(String(error.code));
}
