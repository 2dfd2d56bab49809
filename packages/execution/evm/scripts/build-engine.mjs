// Compiles assembly/ to build/engine.wasm, which carries the modules of assembly/precompiles and assembly/bls12-381 in custom sections.
// Deterministic: the same sources and compiler give the same bytes.
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join, relative, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { GENERATED } from "./generated-sources.mjs";

const packageFolder = join(dirname(fileURLToPath(import.meta.url)), "..");
const require = createRequire(import.meta.url);
const compiler = require.resolve("assemblyscript/dist/asc.js", { paths: [packageFolder] });
const asc = (await import(pathToFileURL(compiler))).default;

const target = join("build", "engine.wasm");
const temporary = (name) => join("build", `${name}.${process.pid}.wasm`);
const fresh = temporary("engine");
mkdirSync(join(packageFolder, "build"), { recursive: true });
const started = process.hrtime.bigint();

/** @returns null: there is no such file */
function readSource(name, baseFolder) {
  const generated = GENERATED[relative("assembly", name).replaceAll("\\", "/")];
  if (generated !== undefined) return generated;
  const file = resolve(baseFolder, name);
  return existsSync(file) ? readFileSync(file, "utf8") : null;
}

async function compile(options) {
  const common = [
    "-O3",
    "--noAssert",
    "--runtime",
    "stub",
    "--use",
    "abort=",
    "--enable",
    "bulk-memory",
    "--baseDir",
    packageFolder,
  ];
  const { error } = await asc.main([...options, ...common], {
    stderr: process.stderr,
    stdout: process.stdout,
    readFile: readSource,
  });
  if (error) process.exit(1);
}

await compile([
  join("assembly", "precompiles", "precompiles.ts"),
  ...["--outFile", temporary("precompiles"), "--enable", "simd"],
  // static data below the buffer of inputs and outputs
  ...["--memoryBase", "1024", "--lowMemoryLimit", "65536", "--initialMemory", "2", "--maximumMemory", "8192"],
]);
await compile([
  join("assembly", "bls12-381", "bls12-381.ts"),
  ...["--outFile", temporary("bls12-381"), "--enable", "simd"],
  ...["--memoryBase", "1024", "--initialMemory", "5", "--maximumMemory", "8192"],
]);
await compile([
  join("assembly", "engine.ts"),
  ...["--outFile", fresh, "--enable", "simd"],
  // static data below the fixed areas of assembly/layout.ts; linear memory starts just above them and grows
  ...["--memoryBase", "1024", "--lowMemoryLimit", "65536", "--initialMemory", "592", "--maximumMemory", "32768"],
  ...(process.argv.includes("--text") ? ["--textFile", join("build", "engine.wat")] : []),
]);

/** Unsigned LEB128 */
function lengthBytes(length) {
  const bytes = [];
  for (let rest = length; ; rest >>>= 7) {
    if (rest < 0x80) return Buffer.from([...bytes, rest]);
    bytes.push((rest & 0x7f) | 0x80);
  }
}

/** A custom section that holds the module compiled to temporary(name) */
function section(title) {
  const name = Buffer.from(title);
  const content = Buffer.concat([lengthBytes(name.length), name, readFileSync(join(packageFolder, temporary(title)))]);
  rmSync(join(packageFolder, temporary(title)));
  return Buffer.concat([Buffer.from([0]), lengthBytes(content.length), content]);
}

const engine = readFileSync(join(packageFolder, fresh));
writeFileSync(join(packageFolder, fresh), Buffer.concat([engine, section("precompiles"), section("bls12-381")]));
renameSync(join(packageFolder, fresh), join(packageFolder, target));
const size = readFileSync(join(packageFolder, target)).length;
console.log(`engine.wasm: ${size} bytes in ${(Number(process.hrtime.bigint() - started) / 1e9).toFixed(1)} s`);
