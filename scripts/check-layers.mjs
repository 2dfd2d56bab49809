// Within a package, the folders of `src` are layers: imports between them, including type imports, go one way. Files directly in
// `src` are the wiring above the folders (`chain.ts`) or the interfaces below them (`api.ts`); they are not checked, and tests
// are not either.
import { existsSync, readFileSync } from "node:fs";
import { dirname, join, relative, resolve, sep } from "node:path";
import { filesBelow, ROOT } from "./lib/stamp.mjs";
import { workspacePackages } from "./lib/workspace.mjs";

/** Also finds `import("…")` as an expression and as a type. */
const IMPORT = /(?:\bfrom|\bimport)\s*\(?\s*["'](\.[^"']+)["']/g;

/** The folder of `src` that holds a file; undefined: none. */
const folderOf = (src, file) => {
  const path = relative(src, file);
  return path.startsWith("..") || !path.includes(sep) ? undefined : path.slice(0, path.indexOf(sep));
};

/** Folder → folder it imports → one of the imports. */
function importsBetweenFolders(src) {
  const imports = new Map();
  for (const file of filesBelow(src)) {
    if (!file.endsWith(".ts") || /\.(?:test|fuzz|bench)\.ts$/.test(file)) continue;
    const from = folderOf(src, file);
    if (from === undefined) continue;
    if (!imports.has(from)) imports.set(from, new Map());
    for (const [, target] of readFileSync(file, "utf8").matchAll(IMPORT)) {
      const to = folderOf(src, resolve(dirname(file), target));
      if (to !== undefined && to !== from) imports.get(from).set(to, `${relative(ROOT, file)} imports ${target}`);
    }
  }
  return imports;
}

/** A cycle of imports between folders; undefined: none. */
function circleIn(imports) {
  const done = new Set();
  const visit = (folder, trail) => {
    const start = trail.findIndex(({ from }) => from === folder);
    if (start >= 0) return trail.slice(start).map(({ example }) => example);
    if (done.has(folder)) return undefined;
    for (const [to, example] of imports.get(folder) ?? []) {
      const circle = visit(to, [...trail, { from: folder, example }]);
      if (circle !== undefined) return circle;
    }
    done.add(folder);
    return undefined;
  };
  for (const folder of imports.keys()) {
    const circle = visit(folder, []);
    if (circle !== undefined) return circle;
  }
  return undefined;
}

const problems = [];
for (const { folder } of workspacePackages()) {
  const src = join(ROOT, folder, "src");
  if (!existsSync(src)) continue;
  const circle = circleIn(importsBetweenFolders(src));
  if (circle !== undefined) problems.push(`folders of ${folder}/src import each other:\n  ${circle.join("\n  ")}`);
}
if (problems.length > 0) {
  console.error(problems.join("\n"));
  process.exit(1);
}
