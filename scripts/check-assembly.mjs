// The format of the AssemblyScript sources: biome's, which cannot parse decorators of functions; they are comments while it formats.
// `--write` formats. The compiler checks the types (packages/execution/evm/scripts/build-engine.mjs).
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { filesBelow, ROOT } from "./lib/stamp.mjs";

const FOLDERS = ["packages/execution/evm/assembly", "packages/base/native/assembly", "packages/base/trie/assembly"];
const hide = (text) => text.replace(/^([ \t]*)@(inline|external(?:\([^)]*\))?)/gm, "$1/*@@$2*/");
const restore = (text) => text.replace(/\/\*@@(.*?)\*\//g, "@$1");

const folder = mkdtempSync(join(tmpdir(), "rnode-assembly-"));
try {
  const { formatter, javascript } = JSON.parse(readFileSync(join(ROOT, "biome.json"), "utf8"));
  writeFileSync(join(folder, "biome.json"), JSON.stringify({ root: true, formatter, javascript }));
  const files = FOLDERS.flatMap((path) => [...filesBelow(join(ROOT, path))]).filter((file) => file.endsWith(".ts"));
  const copyOf = (file) => join(folder, file.slice(ROOT.length));
  for (const file of files) {
    mkdirSync(dirname(copyOf(file)), { recursive: true });
    writeFileSync(copyOf(file), hide(readFileSync(file, "utf8")));
  }
  const biome = join(ROOT, "node_modules/@biomejs/biome/bin/biome");
  const { status, stderr } = spawnSync(process.execPath, [biome, "format", "--write", "--vcs-enabled=false", "."], {
    cwd: folder,
    encoding: "utf8",
  });
  if (status !== 0) throw new Error(`biome could not format the AssemblyScript sources:\n${stderr.slice(0, 4_000)}`);
  const different = files.filter((file) => {
    const formatted = restore(readFileSync(copyOf(file), "utf8"));
    if (formatted === readFileSync(file, "utf8")) return false;
    if (process.argv.includes("--write")) writeFileSync(file, formatted);
    return true;
  });
  if (different.length > 0 && !process.argv.includes("--write")) {
    for (const file of different)
      console.error(`${file.slice(ROOT.length)}: not formatted; node scripts/check-assembly.mjs --write`);
    process.exitCode = 1;
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}
