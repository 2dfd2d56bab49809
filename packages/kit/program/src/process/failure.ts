import { errorText, type Logger } from "@rnode/observe";
import { isCodedError } from "@rnode/primitives";
import { isOutOfFiles, openFilesAdvice } from "./open-files.ts";

/** A problem that the user or the operator must solve: one line with the problem and the remedy. */
export class UserError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "UserError";
  }
}

/** The program stops by its own decision. It must not be started again at once: it stays for `idleMs` with nothing but metrics and profiles. */
export class Halt extends UserError {
  readonly idleMs: number;

  constructor(message: string, idleMs: number) {
    super(message);
    this.name = "Halt";
    this.idleMs = idleMs;
  }
}

const oneLine = (text: string): string => text.replace(/\s*\n\s*/g, " ");

/** Describes an error that the user, the operator or the system caused; undefined for what can only be a bug. */
export type Describe = (error: unknown) => string | undefined;

/** User errors, coded errors, and errors of the system (ENOENT, EADDRINUSE and the like). */
export const describeFailure: Describe = (error) => {
  const text = describeAny(error);
  return text !== undefined && isOutOfFiles(error) ? `${text}: ${openFilesAdvice()}` : text;
};

const describeAny: Describe = (error) => {
  if (error instanceof UserError || isCodedError(error)) return oneLine(error.message);
  if (error instanceof Error && "code" in error && typeof error.code === "string") return oneLine(errorText(error));
  return undefined;
};

/** One line on standard error, for errors that happen before there is a logger. */
export function printFailure(name: string, text: string): void {
  process.stderr.write(`${name}: ${oneLine(text)}\n`);
}

/** Says why the program ends, in one line of the log's format; a bug is logged with its stack. A silent program prints it too. */
export function logFailure(name: string, log: Logger, what: string, error: unknown, describe: Describe): void {
  const description = describe(error);
  const text = description ?? oneLine(errorText(error));
  if (!log.isEnabled("error")) printFailure(name, description === undefined ? `${text} (fault of the program)` : text);
  else if (description !== undefined) log.error(what, { error: text });
  else log.error(`${what}: a fault of the program`, { error: text, stack: error instanceof Error ? error.stack : undefined });
}

export interface Faults {
  /** Settles with the first error that nothing caught. */
  readonly first: Promise<unknown>;
  /** Sets what happens with further ones. */
  onFurther(listener: (error: unknown) => void): void;
  /** Leaves such errors to Node.js again. */
  forget(): void;
}

/** Listens for uncaught errors and unhandled rejections. */
export function listenForFaults(): Faults {
  let listener: (error: unknown) => void = () => {};
  const first = new Promise<unknown>((resolve) => {
    listener = resolve;
  });
  // Node.js raises an unhandled rejection as an uncaught exception.
  const onFault = (error: unknown): void => listener(error);
  process.on("uncaughtException", onFault);
  return {
    first,
    onFurther: (further) => {
      listener = further;
    },
    forget: () => {
      process.off("uncaughtException", onFault);
    },
  };
}
