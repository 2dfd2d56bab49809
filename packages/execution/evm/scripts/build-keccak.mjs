// Compiles assembly/keccak-module.ts into packages/base/primitives/src/hash/keccak-wasm.ts; with `--check`, compares the result with the committed file instead, and fails if they differ.
// Deterministic: the same sources and compiler give the same bytes.
import { readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

const packageFolder = join(dirname(fileURLToPath(import.meta.url)), "..");
const require = createRequire(import.meta.url);
const compiler = require.resolve("assemblyscript/dist/asc.js", { paths: [packageFolder] });
const asc = (await import(pathToFileURL(compiler))).default;

let wasm = new Uint8Array(0);
const { error } = await asc.main(
  [
    "assembly/keccak-module.ts",
    ...["-O3", "--noAssert", "--runtime", "stub", "--use", "abort=", "--enable", "bulk-memory", "--enable", "simd"],
    // static data below the areas of assembly/layout.ts that the permutation uses; above them the buffer
    ...["--memoryBase", "1024", "--lowMemoryLimit", "65536", "--initialMemory", "3", "--maximumMemory", "3"],
    ...["--baseDir", packageFolder, "--outFile", "keccak.wasm"],
  ],
  {
    stderr: process.stderr,
    writeFile: (_name, contents) => {
      wasm = contents;
    },
  },
);
if (error) process.exit(1);

const hex = Buffer.from(wasm).toString("hex");
const text = `// Written by packages/execution/evm/scripts/build-keccak.mjs from packages/execution/evm/assembly/keccak-module.ts.\nexport const KECCAK_WASM =\n  "${hex}";\n`;
const file = join(packageFolder, "..", "..", "base", "primitives", "src", "hash", "keccak-wasm.ts");
if (!process.argv.includes("--check")) writeFileSync(file, text);
else if (readFileSync(file, "utf8") !== text) {
  throw new Error(`${file} is not what scripts/build-keccak.mjs writes: run it again`);
}
