// Joins the compiled modules of each package (dist) into a few files (lib), which programs run and other packages import: with
// 100 files instead of 600, a program starts with half the CPU time. Imports of other packages stay external. Tools that are not
// published (bench, abuse, fuzzers) run from dist.
import { existsSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { join, relative } from "node:path";
import { rolldown } from "rolldown";
import { ROOT } from "./stamp.mjs";
import { workspacePackages } from "./workspace.mjs";

/** The expression with which modules name the entry file of a thread or process, which is in the same folder. */
const PROGRAM = /new URL\(\s*"\.\/([\w-]+)\.js",\s*import\.meta\.url\s*\)/g;

for (const { folder } of workspacePackages()) await bundle(folder);

async function bundle(name) {
  const folder = join(ROOT, name);
  const input = entries(folder);
  const output = join(folder, "lib");
  rmSync(output, { recursive: true, force: true });
  const build = await rolldown({
    input,
    platform: "node",
    external: (id) => !id.startsWith(".") && !id.startsWith("/"),
    onLog: (level, log) => {
      if (level !== "warn") return;
      throw new Error(`${name}: ${log.message}`);
    },
  });
  const { output: files } = await build.write({
    dir: output,
    format: "esm",
    keepNames: true,
    sourcemap: true,
    entryFileNames: "[name].js",
    chunkFileNames: "[name].js",
  });
  await build.close();
  for (const file of files) {
    if (file.type !== "chunk") continue;
    for (const [text, program] of file.code.matchAll(PROGRAM)) {
      if (!existsSync(join(output, file.fileName, "..", `${program}.js`)))
        throw new Error(`${name}/${file.fileName}: ${text} is not there`);
    }
  }
}

/** The exports, the executables, and the entry files of threads and processes. @returns paths in dist, by name in lib */
function entries(folder) {
  const dist = join(folder, "dist");
  const manifest = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  const targets = Object.values(manifest.exports).map((target) => (typeof target === "string" ? target : target.default));
  const input = {};
  for (const target of targets) {
    const path = /^\.\/lib\/(.+)\.js$/.exec(target)?.[1];
    if (path !== undefined) input[path] = join(dist, `${path}.js`);
  }
  if (manifest.bin !== undefined) input.main = join(dist, "main.js");
  for (const file of modules(folder)) {
    for (const [, program] of readFileSync(file, "utf8").matchAll(PROGRAM)) {
      if (input[program] !== undefined)
        throw new Error(`${relative(ROOT, file)}: there is another ${program}.js in this package's lib`);
      input[program] = join(file, "..", `${program}.js`);
    }
  }
  return input;
}

/** Skips output of sources that were moved or deleted. */
function modules(folder) {
  return readdirSync(join(folder, "dist"), { recursive: true })
    .filter((name) => name.endsWith(".js") && existsSync(join(folder, "src", name.replace(/\.js$/, ".ts"))))
    .map((name) => join(folder, "dist", name));
}
