// Every path that the documentation names in backticks or links to exists.
import { existsSync, readFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { filesBelow, ROOT } from "./lib/stamp.mjs";

const documents = [
  ...filesBelow(join(ROOT, "packages")),
  ...["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md"].map((name) => join(ROOT, name)),
];
const problems = [];
for (const document of documents) {
  if (!document.endsWith(".md") || !existsSync(document)) continue;
  const text = readFileSync(document, "utf8");
  // written from the root, or from the document's own folder
  const named = [...text.matchAll(/`((?:packages|scripts|\.ci)\/[\w./-]+)`/g)].map(([, path]) => {
    const beside = join(dirname(document), path);
    return existsSync(beside) ? beside : join(ROOT, path);
  });
  const linked = [...text.matchAll(/\]\((?!https?:|#)([^)#\s]+)[^)]*\)/g)].map(([, path]) => resolve(dirname(document), path));
  for (const path of [...named, ...linked]) {
    if (path.includes("/build/") || path.includes("/dist/")) continue;
    if (!existsSync(path)) problems.push(`${document.slice(ROOT.length)} names ${path.slice(ROOT.length)}, which does not exist`);
  }
}
if (problems.length > 0) {
  console.error(problems.join("\n"));
  process.exit(1);
}
