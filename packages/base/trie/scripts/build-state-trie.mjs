// Compiles assembly/state-trie.ts into src/linear/trie-wasm.ts. With `--check`, compares the result with the committed file
// instead, and fails on a difference. Deterministic: the same sources and compiler give the same bytes.
import { readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

const packageFolder = join(dirname(fileURLToPath(import.meta.url)), "..");
// The compiler of packages/execution/evm, because its permutation is part of the module.
const require = createRequire(import.meta.url);
const compiler = require.resolve("assemblyscript/dist/asc.js", { paths: [join(packageFolder, "..", "..", "execution", "evm")] });
const asc = (await import(pathToFileURL(compiler))).default;

let wasm = new Uint8Array(0);
const { error } = await asc.main(
  [
    "trie/assembly/state-trie.ts",
    ...[
      "-O3",
      "--noAssert",
      "--runtime",
      "stub",
      "--use",
      "abort=",
      "--enable",
      "bulk-memory",
      "--enable",
      "simd",
      "--enable",
      "threads",
    ],
    // Static data is below the areas of assembly/memory.ts. The memory is shared, because views of a shared memory stay valid
    // when it grows.
    ...[
      "--memoryBase",
      "1024",
      "--lowMemoryLimit",
      "65536",
      "--importMemory",
      "--sharedMemory",
      "--initialMemory",
      "3",
      "--maximumMemory",
      "32767",
    ],
    ...["--baseDir", join(packageFolder, ".."), "--outFile", "state-trie.wasm"],
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
const text = `// Written by scripts/build-state-trie.mjs from assembly/state-trie.ts.\nexport const TRIE_WASM =\n  "${hex}";\n`;
const file = join(packageFolder, "src", "linear", "trie-wasm.ts");
if (!process.argv.includes("--check")) writeFileSync(file, text);
else if (readFileSync(file, "utf8") !== text) {
  throw new Error(`${file} is not what scripts/build-state-trie.mjs writes: run it again`);
}
