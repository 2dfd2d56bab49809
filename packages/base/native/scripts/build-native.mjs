// Compiles the arithmetic of packages/execution/evm/assembly to native code, build/native-<platform>-<architecture>.node:
// AssemblyScript → WebAssembly → C (wasm-to-c.mjs) → addon. The field arithmetic of c/field.h replaces that of the WebAssembly.
// Needs a C compiler ($CC, cc, gcc or clang). Without one nothing is built, and the programs use WebAssembly.
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { GENERATED } from "../../../execution/evm/scripts/generated-sources.mjs";
import { FIELDS, fieldsText, generatedSources } from "./fields.mjs";
import { wasmToC } from "./wasm-to-c.mjs";
import { x86Field } from "./x86-field.mjs";
import { x86Secp256k1 } from "./x86-secp256k1.mjs";

const packageFolder = join(dirname(fileURLToPath(import.meta.url)), "..");
const evmFolder = join(packageFolder, "..", "..", "execution", "evm");
const require = createRequire(import.meta.url);
const asc = (await import(pathToFileURL(require.resolve("assemblyscript/dist/asc.js")))).default;

/** SIZE_BITS of c/memory.h */
const SIZE_BITS = 20;
const MODULES = [
  { name: "precompiles", entry: "assembly/precompiles/native.ts", lowMemoryLimit: 65536 },
  { name: "bls12381", entry: "assembly/bls12-381/bls12-381.ts" },
  { name: "secp256k1", entry: "assembly/secp256k1.ts", folder: packageFolder },
  { name: "keccak", entry: "assembly/keccak.ts", folder: packageFolder },
];

const SOURCES = new Map([
  ...Object.entries(generatedSources()).map(([name, text]) => [join(packageFolder, "assembly", name), text]),
  ...Object.entries(GENERATED).map(([name, text]) => [join(evmFolder, "assembly", name), text]),
]);

/** Replaces a field's file with its counterpart for native code. @returns null: there is no such file */
function readSource(name, baseFolder) {
  const file = join(baseFolder, name);
  const generated = SOURCES.get(file.replace(/\.ts$/, "-native.ts")) ?? SOURCES.get(file);
  if (generated !== undefined) return generated;
  return existsSync(file) ? readFileSync(file, "utf8") : null;
}

async function compileToWasm({ entry, lowMemoryLimit, folder = evmFolder }) {
  let wasm;
  const { error } = await asc.main(
    [
      ...[entry, "--outFile", "out.wasm", "-O2", "--noAssert", "--runtime", "stub", "--use", "abort=", "--enable", "bulk-memory"],
      ...["--memoryBase", "1024", "--initialMemory", String((1 << SIZE_BITS) >>> 16), "--baseDir", folder],
      ...(lowMemoryLimit ? ["--lowMemoryLimit", String(lowMemoryLimit)] : []),
    ],
    {
      stderr: process.stderr,
      stdout: process.stdout,
      readFile: readSource,
      writeFile: (_, content) => (wasm = content),
      listFiles: () => [],
    },
  );
  if (error) throw error;
  return wasm;
}

/** The export table of the modules, with functions that read their arguments from an array. */
function exportsText(modules) {
  const lines = [];
  for (const { name, exports } of modules) {
    for (const { name: exported, parameters, result, c } of exports) {
      const call = `${c}(${["M", ...parameters.map((type, i) => `(${type})a[${i}]`)].join(", ")})`;
      const body = result === "void" ? `${call}; return 0;` : `return (uint32_t)${call};`;
      lines.push(`static uint32_t ${name}_x_${exported}(uint8_t *M, const uint32_t *a) { ${body} }`);
    }
    const rows = exports.map(({ name: exported }) => `{"${exported}", ${name}_x_${exported}}`);
    lines.push(`static const function ${name}_functions[] = {${rows.join(", ")}};`);
  }
  const rows = modules.map(({ name, exports }) => `{"${name}", ${name}_initialise, ${name}_functions, ${exports.length}}`);
  lines.push(`static const module modules[] = {${rows.join(", ")}};`);
  return `${lines.join("\n")}\n`;
}

function findCompiler() {
  const candidates = [process.env.CC, "cc", "gcc", "clang"].filter((name) => name !== undefined && name !== "");
  return candidates.find((name) => spawnSync(name, ["--version"], { stdio: "ignore" }).status === 0);
}

const compiler = process.platform === "win32" ? undefined : findCompiler();
const target = join(packageFolder, "build", `native-${process.platform}-${process.arch}.node`);
mkdirSync(dirname(target), { recursive: true });

/** Reports the outcome, and writes a marker so that the build does not try again. */
function finish(outcome) {
  writeFileSync(join(packageFolder, "build", "outcome.txt"), `${outcome}\n`);
  console.log(`native arithmetic: ${outcome}`);
}

if (compiler === undefined) {
  finish("no C compiler found, WebAssembly will do it");
  process.exit(0);
}
const started = process.hrtime.bigint();
const folder = mkdtempSync(join(tmpdir(), "native-"));
try {
  const translated = [];
  for (const { name, ...module } of MODULES) {
    translated.push({ name, ...wasmToC(await compileToWasm(module), name, SIZE_BITS) });
  }
  writeFileSync(join(folder, "x86-field.h"), x86Field());
  writeFileSync(join(folder, "x86-secp256k1.h"), x86Secp256k1());
  writeFileSync(
    join(folder, "modules.h"),
    `${fieldsText(FIELDS)}\n#include "keccak-lanes.h"\n${translated.map(({ text }) => text).join("\n")}`,
  );
  writeFileSync(join(folder, "exports.h"), exportsText(translated));
  const fresh = `${target}.${process.pid}`;
  const headers = join(dirname(require.resolve("node-api-headers/package.json")), "include");
  const link = process.platform === "darwin" ? ["-bundle", "-undefined", "dynamic_lookup"] : ["-shared"];
  const flags = [
    "-std=gnu11",
    "-O2",
    "-fPIC",
    "-fvisibility=hidden",
    "-fno-strict-aliasing",
    "-fwrapv",
    "-Wno-unused-function",
    "-DNAPI_VERSION=8",
  ];
  const sources = ["-I", folder, "-I", join(packageFolder, "c"), "-I", headers, join(packageFolder, "c", "addon.c")];
  const { status } = spawnSync(compiler, [...flags, ...link, ...sources, "-o", fresh], { stdio: "inherit" });
  if (status !== 0) {
    rmSync(fresh, { force: true });
    finish(`${compiler} failed, WebAssembly will do it`);
  } else {
    renameSync(fresh, target);
    finish(`compiled with ${compiler} in ${(Number(process.hrtime.bigint() - started) / 1e9).toFixed(1)} s`);
  }
} finally {
  if (!process.argv.includes("--keep")) rmSync(folder, { recursive: true });
  else console.log(folder);
}
