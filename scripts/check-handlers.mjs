// HTTP servers of shipped programs run their handlers in `guarded` of @rnode/jsonrpc: an error in a handler answers 500 and does not end
// the process. So only the two servers that do it may make one. (That no async function is passed where nothing awaits it is a rule of
// oxlint: no-misused-promises.)
import { readFileSync } from "node:fs";
import { relative } from "node:path";
import { ROOT } from "./lib/stamp.mjs";
import { packageFiles } from "./lib/workspace.mjs";

const GUARDED = ["packages/kit/jsonrpc/src/rpc-server.ts", "packages/kit/program/src/small-server.ts"];
/** Programs that test and measure; they answer only themselves. */
const TOOLS = /^lab\/|\/testing\/|\/e2e\/|\.(?:test|fuzz|bench)\.ts$|\/test-programs\//;
const MAKES_SERVER =
  /\bimport\s*(?:type\s*)?\{[^}]*\b(?:createServer|createSecureServer|Server\s+as\s+\w+)\b[^}]*\}\s*from\s*["'](?:node:)?https?2?["']/;
const MAKES_HANDLER =
  /\.(?:on|once|addListener|prependListener)\(\s*["'](?:request|checkContinue|checkExpectation|connect)["'],\s*async\b/;

const problems = [];
for (const file of packageFiles()) {
  const where = relative(ROOT, file).replaceAll("\\", "/");
  if (!/\/(?:src|scripts|bin)\/.*\.(?:ts|mjs|js)$/.test(where) || TOOLS.test(where)) continue;
  const source = readFileSync(file, "utf8");
  if (GUARDED.includes(where)) {
    if (!/\bguarded\(/.test(source)) problems.push(`${where}: its handler is not run in guarded(…)`);
  } else if (MAKES_SERVER.test(source)) {
    problems.push(`${where}: makes an HTTP server: use startSmallServer of @rnode/program or createRpcServer of @rnode/jsonrpc`);
  }
  if (MAKES_HANDLER.test(source)) problems.push(`${where}: an async function handles an event: nothing awaits it`);
}
if (problems.length > 0) {
  console.error(problems.join("\n"));
  process.exit(1);
}
console.log("handlers: every HTTP server answers errors of its handlers");
