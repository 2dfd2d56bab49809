// Checks that everything that documentation and code refer to exists: paths in backticks, relative links with their anchors, and
// `docs/…/*.md#section` in comments. Nothing is cited that a reader of the repository does not have.
import { existsSync, readFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { anchorsOf } from "./lib/markdown.mjs";
import { filesBelow, ROOT } from "./lib/stamp.mjs";

const ROOT_PAGES = ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md"];
const NAMED_PATH = /`((?:packages|programs|lab|scripts|docs|\.ci)\/[\w./-]+)`/g;
const LINK = /\]\((?!https?:|mailto:)([^)#\s]*)(?:#([^)\s]*))?[^)]*\)/g;
/** In pages that name files by the end of their path, so that moving a folder does not change them. */
const SHORT_NAMES = /^(?:ARCHITECTURE\.md|docs\/decisions\/)/;
const SHORT_NAME = /`([\w-][\w./-]*\.m?ts)`/g;
const CITED_PAGE = /\b(docs\/[\w/-]+\.md)(?:#([\w-]+))?/g;
const NOT_OURS = /\bprotocol\/0\d(?!-)|\bDESIGN ?§/;

const problems = [];
const anchorsByPage = new Map();

function checkTarget(file, path, anchor, written) {
  if (path.includes("/build/") || path.includes("/dist/")) return;
  if (!existsSync(path)) problems.push(`${file} names ${written}, which does not exist`);
  else if (anchor !== undefined && path.endsWith(".md")) {
    if (!anchorsByPage.has(path)) anchorsByPage.set(path, anchorsOf(readFileSync(path, "utf8")));
    if (!anchorsByPage.get(path).has(anchor)) problems.push(`${file} names ${written}, which has no such section`);
  }
}

const paths = ["packages", "programs", "lab", "docs", "scripts", ...ROOT_PAGES].flatMap((name) => [
  ...filesBelow(join(ROOT, name)),
]);
for (const path of paths) {
  const file = relative(ROOT, path);
  if (!/\.(?:md|[mc]?[tj]s|sol)$/.test(file)) continue;
  const text = readFileSync(path, "utf8");
  for (const [written, page, anchor] of text.matchAll(CITED_PAGE)) checkTarget(file, join(ROOT, page), anchor, written);
  if (NOT_OURS.test(text)) problems.push(`${file} cites ${NOT_OURS.exec(text)[0]}, which is not in the repository`);
  if (!file.endsWith(".md")) continue;
  for (const [, named] of text.matchAll(NAMED_PATH)) {
    // relative to the root, or to the document's own folder
    const beside = join(dirname(path), named);
    checkTarget(file, existsSync(beside) ? beside : join(ROOT, named), undefined, named);
  }
  if (SHORT_NAMES.test(file)) {
    for (const [, name] of text.matchAll(SHORT_NAME)) {
      if (!paths.some((path) => path.endsWith(`/${name}`))) problems.push(`${file} names ${name}, which does not exist`);
    }
  }
  const prose = text.replace(/^(`{3,})[^\n]*\n[\s\S]*?^\1/gm, "").replace(/`[^`\n]*`/g, "");
  for (const [, target, anchor] of prose.matchAll(LINK)) {
    checkTarget(
      file,
      target === "" ? path : resolve(dirname(path), target),
      anchor,
      anchor === undefined ? target : `${target}#${anchor}`,
    );
  }
}
if (problems.length > 0) {
  console.error(problems.join("\n"));
  process.exit(1);
}
