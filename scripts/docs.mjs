// `npm run docs`: the pages of the repository as a site, in build/docs. A broken link is an error. The generator has a separate
// lockfile (docs/package-lock.json), so that users and testers of rnode need not install it.
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { run } from "./lib/build-steps.mjs";
import { filesBelow, isStampCurrent, ROOT, writeStamp } from "./lib/stamp.mjs";

const ROOT_PAGES = ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md"];

/** The first page; the others lie where they lie in the repository, so that their links hold. */
const HOME = `---
layout: home
hero:
  name: rnode
  text: An optimistic rollup stack in TypeScript
  tagline: Compatible with the OP Stack in consensus and on the wire
  actions:
    - { theme: brand, text: Run a node, link: /docs/guide/verifier }
    - { theme: alt, text: All pages, link: /docs/index }
    - { theme: alt, text: Architecture, link: /ARCHITECTURE }
---
`;

const folder = join(ROOT, "docs");
const lock = readFileSync(join(folder, "package-lock.json"), "utf8");
const npm = process.platform === "win32" ? "npm.cmd" : "npm";
if (!existsSync(join(folder, "node_modules", "vitepress")) || !isStampCurrent("docs-install", lock)) {
  console.log("installing the documentation's generator");
  run(npm, ["ci"], { cwd: folder, shell: process.platform === "win32" });
  writeStamp("docs-install", lock);
}

// The generator finds its own packages only from pages below its folder.
const pages = join(folder, "build", "pages");
rmSync(pages, { recursive: true, force: true });
for (const path of [...ROOT_PAGES, "docs", "packages", "programs", "lab"].flatMap((name) => [...filesBelow(join(ROOT, name))])) {
  if (!path.endsWith(".md")) continue;
  const page = join(pages, relative(ROOT, path));
  mkdirSync(dirname(page), { recursive: true });
  cpSync(path, page);
}
writeFileSync(join(pages, "index.md"), HOME);
run(process.execPath, [join("node_modules", "vitepress", "bin", "vitepress.js"), "build", "."], { cwd: folder });
console.log("docs: build/docs/index.html");
