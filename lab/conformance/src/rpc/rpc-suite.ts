import { existsSync } from "node:fs";
import { join } from "node:path";
import { type CaseResult, reportOf, type SuiteReport } from "../vectors.ts";
import { firstDifference } from "./rpc-compare.ts";
import { deviationsOf, type RpcDeviation } from "./rpc-deviations.ts";
import { type RpcResponse, type RpcTest, readRpcTests } from "./rpc-io.ts";
import { type ProfileName, postJson, type RpcClientUnderTest, startRengine } from "./rpc-program.ts";
import { type ExecutionApis, readExecutionApis } from "./rpc-schema.ts";

/** Where the suite's parts are in a folder. */
export interface RpcSuiteFolder {
  /** of ethereum/execution-apis */
  readonly root: string;
  /** with chain, genesis and `.io` files */
  readonly tests: string;
}

const FILES = ["chain.rlp", "genesis.json", "headfcu.json"] as const;

/** Finds the suite in a folder: `DIR/tests/chain.rlp`, the same in `DIR/rpc` or `DIR/execution-apis`, or `DIR/rpc/chain.rlp`. */
export function findRpcSuite(folder: string): RpcSuiteFolder | undefined {
  const inside = [folder, join(folder, "rpc"), join(folder, "execution-apis")].map((root) => ({
    root,
    tests: join(root, "tests"),
  }));
  const candidates = [...inside, { root: folder, tests: join(folder, "rpc") }];
  return candidates.find(({ tests }) => FILES.every((file) => existsSync(join(tests, file))));
}

/**
 * Runs the RPC suite of ethereum/execution-apis on its own chain, like hive's `rpc-compat`: answers are compared with the
 * recorded ones field by field, or only with the schema if a file is marked `speconly`. In addition, every result must match its
 * method's schema.
 *
 * @param program path of `rengine`'s start file
 */
export async function runRpcSuite(
  { root, tests }: RpcSuiteFolder,
  { program, profile }: { readonly program: string; readonly profile: ProfileName },
): Promise<SuiteReport> {
  const [genesisPath, blocksPath, headRequestPath] = [
    join(tests, "genesis.json"),
    join(tests, "chain.rlp"),
    join(tests, "headfcu.json"),
  ];
  const hasSchemas = existsSync(join(root, "src"));
  if (!hasSchemas) console.log(`  ${root} has no src folder: answers are not held against schemas`);
  const apis = hasSchemas ? await readExecutionApis(root) : undefined;
  const client = await startRengine(program, { genesisPath, blocksPath, headRequestPath }, profile);
  try {
    return reportOf(await runRpcTests(readRpcTests(tests), client, apis, deviationsOf(profile)));
  } finally {
    await client.stop();
  }
}

/**
 * @param apis `undefined`: of an answer that depends on the client, only the names of its fields are checked
 * @param deviations by the test's name; an unnecessary one is a failure
 */
export async function runRpcTests(
  tests: readonly RpcTest[],
  client: Pick<RpcClientUnderTest, "url">,
  apis: ExecutionApis | undefined,
  deviations: ReadonlyMap<string, RpcDeviation>,
): Promise<CaseResult[]> {
  const results: CaseResult[] = [];
  for (const test of tests) {
    const { name } = test;
    const failure = await runRpcTest(test, client, apis, deviations.get(name)).catch((error: unknown) => String(error));
    results.push({ name, failure });
  }
  return results;
}

async function runRpcTest(
  test: RpcTest,
  { url }: Pick<RpcClientUnderTest, "url">,
  apis: ExecutionApis | undefined,
  deviation: RpcDeviation | undefined,
): Promise<string | undefined> {
  let isDeviating = false;
  for (const exchange of test.exchanges) {
    const answer = (await postJson(url, exchange.request)) as RpcResponse;
    let { expected } = exchange;
    let fault = test.isSpecOnly ? undefined : firstDifference(expected, answer);
    if (fault !== undefined && deviation !== undefined) {
      isDeviating = true;
      expected = deviation.expectedInstead(expected, answer);
      fault = firstDifference(expected, answer);
    }
    fault ??= test.isSpecOnly && apis === undefined ? missingField(expected.result, answer.result) : undefined;
    fault ??= shapeFault(exchange.request.method, { recorded: exchange.expected, expected }, answer, apis);
    if (fault !== undefined) return `${exchange.request.method}: ${fault}`;
  }
  if (deviation !== undefined && !isDeviating) return `answers as recorded, but is listed as different: ${deviation.because}`;
  return undefined;
}

/**
 * Checks that the answer is a result, or an error with the expected code, and that a result has the method's shape if the recorded
 * one has it.
 */
function shapeFault(
  method: string,
  { recorded, expected }: { readonly recorded: RpcResponse; readonly expected: RpcResponse },
  answer: RpcResponse,
  apis: ExecutionApis | undefined,
): string | undefined {
  const codeOf = (response: RpcResponse): unknown => (response.error as { code?: unknown } | undefined)?.code;
  if (codeOf(expected) !== codeOf(answer)) {
    return `expected ${"error" in expected ? `error code ${String(codeOf(expected))}` : "a result"}, got ${JSON.stringify(answer).slice(0, 300)}`;
  }
  if (apis === undefined || "error" in answer || !apis.methods.has(method) || expected !== recorded) return undefined;
  if (apis.faultOf(method, recorded.result) !== undefined) return undefined; // the suite's own result does not match the schema
  return apis.faultOf(method, answer.result);
}

/** The first field of the recorded result that is missing or has another type. */
function missingField(recorded: unknown, result: unknown): string | undefined {
  const kindOf = (value: unknown): string => (Array.isArray(value) ? "array" : value === null ? "null" : typeof value);
  if (kindOf(recorded) !== kindOf(result)) return `$.result: expected ${kindOf(recorded)}, got ${kindOf(result)}`;
  if (kindOf(recorded) !== "object") return undefined;
  const missing = Object.keys(recorded as object).find((name) => !Object.hasOwn(result as object, name));
  return missing === undefined ? undefined : `$.result.${missing}: missing`;
}
