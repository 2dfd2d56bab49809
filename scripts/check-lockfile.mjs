// Lockfiles pin contents, not only versions: every package has the hash that the registry gave for it, and no address of a registry.
// Packages for other platforms that our registry does not carry were entered by hand, without a hash; they are listed here, so that none joins
// them unseen and none gets lost when npm rewrites the file.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "./lib/stamp.mjs";

/** By the beginning of their names. */
const WITHOUT_HASH = {
  "@biomejs/cli-": "android-arm64 android-x64 darwin-arm64 darwin-x64 linux-arm64-musl linux-x64-musl win32-arm64 win32-x64",
  "@crate-crypto/node-eth-kzg-": "darwin-arm64 darwin-x64 linux-arm64-gnu win32-arm64-msvc win32-x64-msvc",
  "@foundry-rs/anvil-": "darwin-amd64 darwin-arm64 linux-arm64 win32-amd64",
  "@foundry-rs/cast-": "darwin-amd64 darwin-arm64 linux-arm64 win32-amd64",
  "@oxc-parser/binding-":
    "android-arm-eabi android-arm64 darwin-arm64 darwin-x64 freebsd-x64 linux-arm-gnueabihf linux-arm-musleabihf linux-ppc64-gnu " +
    "linux-riscv64-gnu linux-riscv64-musl linux-s390x-gnu openharmony-arm64 win32-arm64-msvc win32-ia32-msvc win32-x64-msvc",
  "@oxlint-tsgolint/": "darwin-arm64 darwin-x64 win32-arm64 win32-x64",
  "@oxlint/binding-":
    "android-arm-eabi android-arm64 darwin-arm64 darwin-x64 freebsd-x64 linux-arm-gnueabihf linux-arm-musleabihf linux-arm64-musl " +
    "linux-ppc64-gnu linux-riscv64-gnu linux-riscv64-musl linux-s390x-gnu linux-x64-musl openharmony-arm64 win32-arm64-msvc win32-ia32-msvc " +
    "win32-x64-msvc",
};

/** The same, of the documentation's generator. */
const WITHOUT_HASH_IN_DOCS = {
  "@rollup/rollup-":
    "android-arm-eabi android-arm64 android-x64 darwin-arm64 darwin-x64 freebsd-arm64 freebsd-x64 linux-arm-gnueabihf linux-arm-musleabihf " +
    "linux-arm64-musl linux-loong64-gnu linux-loong64-musl linux-ppc64-gnu linux-ppc64-musl linux-riscv64-gnu linux-riscv64-musl linux-s390x-gnu " +
    "linux-x64-musl openbsd-x64 openharmony-arm64 win32-arm64-msvc win32-ia32-msvc win32-x64-gnu win32-x64-msvc",
};

const problems = [...problemsOf("package-lock.json", WITHOUT_HASH), ...problemsOf("docs/package-lock.json", WITHOUT_HASH_IN_DOCS)];
if (problems.length > 0) {
  for (const problem of problems) console.error(problem);
  process.exit(1);
}

function problemsOf(lockfile, withoutHash) {
  const listed = new Set(
    Object.entries(withoutHash).flatMap(([start, ends]) => ends.split(" ").map((end) => `node_modules/${start}${end}`)),
  );
  const { packages } = JSON.parse(readFileSync(join(ROOT, lockfile), "utf8"));
  const problems = [];
  for (const [path, entry] of Object.entries(packages)) {
    if (entry.link || !path.includes("node_modules/")) continue;
    if (entry.resolved) problems.push(`${path} has an address; remove "resolved" (.npmrc keeps it out)`);
    if (!entry.integrity && !listed.has(path)) {
      problems.push(`${path} has no hash; \`npm view NAME@${entry.version} dist.integrity\` tells it`);
    }
    if (entry.integrity && !/^sha512-/.test(entry.integrity)) problems.push(`${path} has a hash that is not sha512`);
  }
  for (const path of listed) {
    const entry = packages[path];
    if (!entry)
      problems.push(
        `${path} is missing: npm drops what its registry does not carry; enter it again, with the version of its siblings`,
      );
    else if (entry.integrity) problems.push(`${path} has a hash now; take it off the list in scripts/check-lockfile.mjs`);
    else if (!entry.optional) problems.push(`${path} has no hash and is not optional`);
  }

  return problems.map((problem) => `${lockfile}: ${problem}`);
}
