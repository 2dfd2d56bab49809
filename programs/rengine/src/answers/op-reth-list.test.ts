import { existsSync, readFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";

// Accounts for every request of a list that was recorded beside op-reth (`op-reth/rpc/more.txt` in the folder of vectors): 484 requests to one chain,
// of which face R answered 301 the same. The chain is not kept, so each difference is sorted by where it is tested instead: mended with a row in
// `reth-answers.test.ts` or `parameter-rules.test.ts`, or kept with a row in the table of docs/faces.md.

const folder = process.env.RNODE_VECTORS ?? resolve(dirname(fileURLToPath(import.meta.url)), "../../../../../shared/vectors");
const path = join(folder, "op-reth/rpc/more.txt");
const isThere = existsSync(path);
if (!isThere) console.warn("not run: differences from op-reth (no vectors folder; set RNODE_VECTORS)");

type Fate = "mended" | "data" | "kept";
/** The first rule that fits the method and, as `path: op-reth | ours`, one difference decides. */
const RULES: readonly (readonly [method: RegExp, difference: RegExp, fate: Fate])[] = [
  // Traces
  [
    /^trace_(replay|call)/,
    /\.result\.gasUsed: |\.vmTrace\.ops\..*\.ex\.mem|\.vmTrace\.code: |\.stateDiff\..*\.code: "="/,
    "mended",
  ],
  [/^trace_call$/, /^\.(output|stateDiff|trace|vmTrace|error): /, "kept"],
  [/^debug_traceTransaction/, /^\.0\.action\.gas|^\.callTracer\.gas/, "mended"],
  [/^debug_traceTransaction/, /\.0x4200000000000000000000000000000000000011: \(missing\)/, "mended"],
  [
    /^debug_traceTransaction/,
    /\.0x(0{40}|0116686e2291dbd5e317f47fadbfb43b599786ef): \(missing\)|\.code: \(missing\) \| "0x"/,
    "mended",
  ],
  [/^debug_traceTransaction/, /^\.structLogs\./, "kept"], // `limit`
  [/^debug_traceCall/, /./, "kept"], // `timeout`
  [/^trace_block$/, /block not found/, "mended"],
  [/^trace_rawTransaction/, /./, "mended"],
  [/^trace_filter/, /^\.error\.message/, "data"], // which range would pass
  [/^trace_.*OpcodeGas/, /./, "kept"],
  [/^debug_traceBlock$/, /./, "kept"], // the reason why an encoding is no block
  [/^debug_(traceBlockBy|executionWitness)/, /^\.error\./, "mended"],
  [/^debug_getRawTransaction$/, /./, "mended"],
  [/^debug_getRawBlock$/, /block not found: pending/, "kept"],
  [/^debug_executePayload/, /./, "kept"], // the chain of the list had Method not found; served since
  // Calls
  [
    /^eth_call$/,
    /blob hash version|authorization list has invalid fields|\.error\.data: \(missing\) \| "0x"|-32003 \| 3$/,
    "mended",
  ],
  [/^eth_call$/, /max fee per gas less than block base fee|-32000 \| -32003$/, "mended"],
  [/^eth_call$/, /both .*data|is not a precompile|has both|\.error\.|expected a hex quantity/, "kept"],
  [/^eth_estimateGas/, /max initcode|exceeds allowance|\.error\.data: \(missing\)|3 \| -32000|execution reverted/, "mended"],
  [/^eth_simulateV1/, /^\.error\./, "mended"],
  // Blocks, fees, state
  [/^eth_feeHistory/, /^\.reward/, "mended"],
  [/^eth_feeHistory/, /^\.error\.message/, "data"], // which percentile
  [/^eth_getBlockBy|^eth_getBlockReceipts/, /./, "mended"],
  [/^eth_getTransactionByBlock/, /./, "mended"],
  [/^eth_getStorageAt/, /./, "mended"],
  [/^eth_getLogs/, /^\.error\.(message: "Invalid params"|data: "cannot specify both)/, "data"],
  [/^eth_getLogs/, /^\.error\.message/, "mended"],
  [/^eth_getBalance/, /"0x21e19c3a5edad7c1c46" \| "0x21e19ac18bb8cbca16d"/, "mended"], // `blockNumber`
  [/^eth_getBalance/, /./, "kept"],
  [/^eth_(getBlockAccessList|capabilities|subscribe|unsubscribe)/, /./, "kept"],
  [/^rpc_modules/, /./, "kept"],
  [/^admin_clearTxpool/, /./, "mended"],
  [/^admin_removePeer/, /./, "kept"],
];

interface Difference {
  readonly request: string;
  readonly method: string;
  readonly lines: readonly string[];
}

function readList(text: string): { readonly same: number; readonly differences: readonly Difference[] } {
  let same = 0;
  const differences: { request: string; method: string; lines: string[] }[] = [];
  for (const line of text.split("\n")) {
    const [, kind, method = ""] = /^(DIFF|same) (\S+)/.exec(line) ?? [];
    if (kind === "same") same++;
    else if (kind === "DIFF") differences.push({ request: line.slice(5, 165), method, lines: [] });
    else if (/^ {5}[.:]/.test(line)) differences.at(-1)!.lines.push(line.trim());
  }
  return { same, differences };
}

function fateOf({ method, lines }: Difference): Fate | "unknown" {
  if (lines.every((line) => /^\.error\.data: (?!\(missing\))/.test(line))) return "data";
  const fates = lines.map((line) => {
    const rule = RULES.find(([methods, difference]) => methods.test(method) && difference.test(line));
    return rule?.[2] ?? "unknown";
  });
  return (["unknown", "kept", "data", "mended"] as const).find((fate) => fates.includes(fate)) ?? "unknown";
}

describe.skipIf(!isThere)("the list beside op-reth", () => {
  it("each request is the same now, or different on purpose", () => {
    const { same, differences } = readList(readFileSync(path, "utf8"));
    const of = (fate: Fate | "unknown"): string[] =>
      differences.flatMap((each) => (fateOf(each) === fate ? [`${each.request} ${each.lines.join(" ")}`.slice(0, 250)] : []));
    expect(of("unknown")).toEqual([]);
    expect(same + differences.length).toBe(484);
    const result = { same: same + of("mended").length, "error.data only": of("data").length, "on purpose": of("kept").length };
    expect(result).toEqual({ same: 398, "error.data only": 51, "on purpose": 35 });
  });
});
