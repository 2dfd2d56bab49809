import { readFileSync } from "node:fs";

/**
 * `v` and the version of a package. @param moduleUrl `import.meta.url` of a module directly below the package's `src`
 * or `lib`
 */
export function versionOf(moduleUrl: string): string {
  const manifest = JSON.parse(readFileSync(new URL("../package.json", moduleUrl), "utf8")) as { version: string };
  return `v${manifest.version}`;
}
