import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { gunzipSync } from "node:zlib";

/** Outcome of one case; without a `failure` it passed. */
export interface CaseResult {
  readonly name: string;
  readonly failure: string | undefined;
  /** names of expected exceptions without a comparison; `undefined`: none */
  readonly uncompared?: readonly string[] | undefined;
}

/** Outcome of a suite; failures and skips are one line each, with the case's name. */
export interface SuiteReport {
  readonly passed: number;
  readonly failures: readonly string[];
  readonly skipped: readonly string[];
  /** number of refusals without a comparison, by the names of the expected exceptions; `undefined`: none */
  readonly uncompared?: Readonly<Record<string, number>> | undefined;
}

/** The sum over parts of a suite. */
export function sumOfUncompared(parts: Iterable<SuiteReport["uncompared"]>): SuiteReport["uncompared"] {
  const sum: Record<string, number> = {};
  for (const part of parts) {
    for (const [name, count] of Object.entries(part ?? {})) sum[name] = (sum[name] ?? 0) + count;
  }
  return Object.keys(sum).length === 0 ? undefined : sum;
}

export function reportOf(results: Iterable<CaseResult>): SuiteReport {
  let passed = 0;
  const failures: string[] = [];
  const unknown: SuiteReport["uncompared"][] = [];
  for (const { name, failure, uncompared = [] } of results) {
    for (const exception of uncompared) unknown.push({ [exception]: 1 });
    if (failure === undefined) passed++;
    else failures.push(`${name}: ${failure}`);
  }
  const uncompared = sumOfUncompared(unknown);
  return { passed, failures, skipped: [], ...(uncompared !== undefined && { uncompared }) };
}

/** A case that throws has failed, with the error as the reason. */
export function resultOf(name: string, run: (note: NoteUncompared) => string | undefined): CaseResult {
  const uncompared: string[] = [];
  try {
    const failure = run((exception) => uncompared.push(exception));
    return { name, failure, ...(uncompared.length > 0 && { uncompared }) };
  } catch (error) {
    return { name, failure: error instanceof Error ? error.message : String(error) };
  }
}

/** Gets the name of an expected exception without a comparison. */
export type NoteUncompared = (exception: string) => void;

/** All `.json` and `.json.gz` files below a folder, in order of their paths. */
export function jsonFilesBelow(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((name) => /\.json(\.gz)?$/.test(name))
    .sort()
    .map((name) => join(folder, name));
}

/** Folder of public test data: `RNODE_VECTORS`, or `shared/vectors` next to the repository; `undefined` if there is none. */
export function vectorsFolder(env: NodeJS.ProcessEnv = process.env): string | undefined {
  const repository = resolve(dirname(fileURLToPath(import.meta.url)), "../../..");
  const folder = env.RNODE_VECTORS ?? join(repository, "../shared/vectors");
  return existsSync(folder) ? folder : undefined;
}

/** A JSON file, gzipped or not. */
export function readJsonFile(path: string): unknown {
  const bytes = readFileSync(path);
  const text = bytes[0] === 0x1f && bytes[1] === 0x8b ? gunzipSync(bytes) : bytes;
  return JSON.parse(text.toString("utf8"));
}
