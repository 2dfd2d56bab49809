// Compiles assembly/ to build/engine.wasm. Deterministic: the same sources and compiler give the same bytes.
import { mkdirSync, readFileSync, renameSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

const packageFolder = join(dirname(fileURLToPath(import.meta.url)), "..");
const require = createRequire(import.meta.url);
const compiler = require.resolve("assemblyscript/dist/asc.js", { paths: [packageFolder] });
const asc = (await import(pathToFileURL(compiler))).default;

const target = join("build", "engine.wasm");
mkdirSync(join(packageFolder, "build"), { recursive: true });
const started = process.hrtime.bigint();
const options = [
  join("assembly", "engine.ts"),
  ...["--outFile", `${target}.new`, "-O3", "--noAssert", "--runtime", "stub", "--use", "abort="],
  ...["--enable", "simd", "--enable", "bulk-memory"],
  // static data below the fixed areas of assembly/layout.ts; linear memory starts just above them and grows
  ...["--memoryBase", "1024", "--lowMemoryLimit", "65536", "--initialMemory", "592", "--maximumMemory", "32768"],
  ...(process.argv.includes("--text") ? ["--textFile", join("build", "engine.wat")] : []),
];
const { error } = await asc.main([...options, "--baseDir", packageFolder], { stderr: process.stderr, stdout: process.stdout });
if (error) process.exit(1);
renameSync(join(packageFolder, `${target}.new`), join(packageFolder, target));
const size = readFileSync(join(packageFolder, target)).length;
console.log(`engine.wasm: ${size} bytes in ${(Number(process.hrtime.bigint() - started) / 1e9).toFixed(1)} s`);
