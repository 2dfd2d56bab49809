// Imports point downwards: a package may only import packages of its own or a lower ring and area, declared in its package.json and tsconfig
// references, through their exports. Rings 1 and 2 are pure (no Node modules, clock or randomness); rings 3 and 4 take the time of day from
// a `Clock`.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { filesBelow, ROOT } from "./lib/stamp.mjs";
import { AREAS, workspacePackages } from "./lib/workspace.mjs";

const IMPORT = /(?:^|\n)\s*(?:import|export)\b[^"'`;]*?from\s*["']([^"']+)["']|(?:^|[^\w.])import\s*\(?\s*["']([^"']+)["']/g;
const IMPURE = /\b(?:Date\.now|Math\.random|new Date\(\s*\)|performance\.now|setTimeout|setInterval|process\.)/;
const TIME_OF_DAY = /\bDate\.now\b|\bnew Date\(\s*\)/;
/** Who may ask the machine for the time of day: the clock itself, and what only writes it down; programs that test and measure. */
const ASKS_MACHINE = [
  "packages/kit/program/src/process/system-clock.ts",
  "packages/kit/jsonrpc/src/auth/jwt.ts", // the default of clients and servers that are given no clock
  "packages/kit/jsonrpc/src/http/plain-http.ts", // the Date header
  "packages/kit/observe/src/logger.ts", // the time of a line
  "programs/devnet/src/processes/program.ts", // the time of a start, in a log
  "programs/devnet/src/e2e/",
  "lab/abuse/",
  "lab/bench/",
  "lab/conformance/",
];

/** What an area may use of one above it, and why. */
const ABOVE = new Set([
  "@rnode/rengine @rnode/conformance", // statetest and blocktest run public suites as evm of go-ethereum does
]);
/** The package in a folder. */
const nameAt = (folder) => [...packages].find(([, entry]) => entry.folder === folder.replaceAll("\\", "/"))?.[0] ?? folder;

const packages = new Map();
for (const { area, folder, manifest } of workspacePackages()) {
  const tsconfig = JSON.parse(readFileSync(join(ROOT, folder, "tsconfig.json"), "utf8"));
  packages.set(manifest.name, { area, folder, manifest, tsconfig, ring: manifest.rnode?.ring });
}

const problems = [];
for (const [name, { area, folder, manifest, tsconfig, ring }] of packages) {
  if (![1, 2, 3, 4].includes(ring)) problems.push(`${name}: package.json needs "rnode": { "ring": 1…4 }`);
  const pure = ring <= 2;
  if (pure && (tsconfig.compilerOptions?.types?.length || tsconfig.compilerOptions?.lib)) {
    problems.push(`${name}: ring ${ring} compiles without DOM and Node types`);
  }
  const declared = new Set(Object.keys(manifest.dependencies ?? {}));
  const referenced = new Set((tsconfig.references ?? []).map(({ path }) => nameAt(join(folder, path))));
  for (const dependency of declared) {
    const target = packages.get(dependency);
    if (!target) continue;
    if (target.ring > ring) problems.push(`${name} (ring ${ring}) depends on ${dependency} (ring ${target.ring}): upwards`);
    const isUpwards = AREAS.indexOf(target.area) > AREAS.indexOf(area);
    if (isUpwards && !ABOVE.has(`${name} ${dependency}`))
      problems.push(`${name} (${area}) depends on ${dependency} (${target.area}): upwards`);
    if (!referenced.has(dependency)) problems.push(`${name}: tsconfig.json lacks the reference to ${dependency}`);
  }
  for (const reference of referenced) {
    if (!declared.has(reference)) problems.push(`${name}: tsconfig.json refers to ${reference}, which is not a dependency`);
  }
  for (const file of filesBelow(join(ROOT, folder, "src"))) {
    if (!/\.m?tsx?$/.test(file)) continue;
    const where = file.slice(ROOT.length);
    const isTest = /\.(?:test|fuzz|bench)\.ts$/.test(file) || file.includes("/testing/");
    const source = readFileSync(file, "utf8");
    for (const match of source.matchAll(IMPORT)) {
      const target = match[1] ?? match[2];
      if (target.startsWith("@rnode/")) {
        const dependency = target.split("/").slice(0, 2).join("/");
        if (!isTest && dependency !== name && !declared.has(dependency))
          problems.push(`${where}: ${dependency} is not a dependency`);
      } else if (target.startsWith("../") && /\/(?:packages|programs|lab)\//.test(target)) {
        problems.push(`${where}: imports ${target} by path; use the package's exports`);
      } else if (pure && !isTest && target.startsWith("node:")) {
        problems.push(`${where}: ring ${ring} must not import ${target}`);
      }
    }
    const mayAsk = ASKS_MACHINE.some((path) => where.replace(/^\//, "").startsWith(path));
    if (!pure && !isTest && !mayAsk && TIME_OF_DAY.test(source.replace(/^\s*(?:\/\/|\*|\/\*).*$/gm, "")))
      problems.push(
        `${where}: takes the time of day from the machine; it is for the \`Clock\` to say (systemClock of @rnode/program)`,
      );
    if (pure && !isTest) {
      source.split("\n").forEach((line, index) => {
        if (IMPURE.test(line) && !/^\s*(?:\/\/|\*|\/\*)/.test(line))
          problems.push(`${where}:${index + 1}: ring ${ring} is pure: ${line.trim()}`);
      });
    }
  }
}

// No cycles within a ring.
const visit = (name, trail) => {
  if (trail.includes(name)) {
    problems.push(`cycle: ${[...trail.slice(trail.indexOf(name)), name].join(" → ")}`);
    return;
  }
  for (const dependency of Object.keys(packages.get(name).manifest.dependencies ?? {})) {
    if (packages.has(dependency)) visit(dependency, [...trail, name]);
  }
};
for (const name of packages.keys()) visit(name, []);

if (problems.length > 0) {
  console.error([...new Set(problems)].join("\n"));
  process.exit(1);
}
