// Imports point downwards: a package may only import packages of its own or a lower ring, declared in its package.json and tsconfig
// references, through their exports. Rings 1 and 2 are pure (no Node modules, clock or randomness); rings 3 and 4 take the time of day from
// a `Clock`.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { filesBelow, ROOT } from "./lib/stamp.mjs";

const IMPORT = /(?:^|\n)\s*(?:import|export)\b[^"'`;]*?from\s*["']([^"']+)["']|(?:^|[^\w.])import\s*\(?\s*["']([^"']+)["']/g;
const IMPURE = /\b(?:Date\.now|Math\.random|new Date\(\s*\)|performance\.now|setTimeout|setInterval|process\.)/;
const TIME_OF_DAY = /\bDate\.now\b|\bnew Date\(\s*\)/;
/** Who may ask the machine for the time of day: the clock itself, and what only writes it down; programs that test and measure. */
const ASKS_MACHINE = [
  "program/src/system-clock.ts",
  "jsonrpc/src/jwt.ts", // the default of clients and servers that are given no clock
  "jsonrpc/src/plain-http.ts", // the Date header
  "observe/src/logger.ts", // the time of a line
  "devnet/src/program.ts", // the time of a start, in a log
  "devnet/src/e2e/",
  "abuse/",
  "bench/",
  "conformance/",
];

const packages = new Map();
for (const folder of readdirSync(join(ROOT, "packages"))) {
  const manifest = JSON.parse(readFileSync(join(ROOT, "packages", folder, "package.json"), "utf8"));
  const tsconfig = JSON.parse(readFileSync(join(ROOT, "packages", folder, "tsconfig.json"), "utf8"));
  packages.set(manifest.name, { folder, manifest, tsconfig, ring: manifest.rnode?.ring });
}

const problems = [];
for (const [name, { folder, manifest, tsconfig, ring }] of packages) {
  if (![1, 2, 3, 4].includes(ring)) problems.push(`${name}: package.json needs "rnode": { "ring": 1…4 }`);
  const pure = ring <= 2;
  if (pure && (tsconfig.compilerOptions?.types?.length || tsconfig.compilerOptions?.lib)) {
    problems.push(`${name}: ring ${ring} compiles without DOM and Node types`);
  }
  const declared = new Set(Object.keys(manifest.dependencies ?? {}));
  const referenced = new Set((tsconfig.references ?? []).map(({ path }) => path.replace("../", "@rnode/")));
  for (const dependency of declared) {
    const target = packages.get(dependency);
    if (!target) continue;
    if (target.ring > ring) problems.push(`${name} (ring ${ring}) depends on ${dependency} (ring ${target.ring}): upwards`);
    if (!referenced.has(dependency)) problems.push(`${name}: tsconfig.json lacks the reference to ${dependency}`);
  }
  for (const reference of referenced) {
    if (!declared.has(reference)) problems.push(`${name}: tsconfig.json refers to ${reference}, which is not a dependency`);
  }
  for (const file of filesBelow(join(ROOT, "packages", folder, "src"))) {
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
      } else if (target.startsWith("../") && target.includes("/packages/")) {
        problems.push(`${where}: imports ${target} by path; use the package's exports`);
      } else if (pure && !isTest && target.startsWith("node:")) {
        problems.push(`${where}: ring ${ring} must not import ${target}`);
      }
    }
    const mayAsk = ASKS_MACHINE.some((path) => where.replace(/^\/?packages\//, "").startsWith(path));
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
