import { readdirSync, readFileSync } from "node:fs";
import { extname, join } from "node:path";
import { UserError } from "@rnode/program";
import { PAGE_FOLDER as VERIFIER, PAGE_POLICY as VERIFIER_POLICY } from "@rnode/verifier";
import { PAGE_FOLDER } from "../page-folder.ts";

interface PageFile {
  readonly type: string;
  readonly body: Buffer;
  /** its name changes with its content */
  readonly isImmutable: boolean;
  /** for the header content-security-policy */
  readonly policy: string;
}

/** Files by their paths below the dashboard's address: `/`, `/assets/…`, `/verifier/`, `/verifier/assets/…`. */
export type PageFiles = ReadonlyMap<string, PageFile>;

const TYPES: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
  ".wasm": "application/wasm",
};
const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/** The dashboard's page and, below `/verifier/`, that of the verifier, as the build left them. @throws {UserError} one was not built */
export const readPages = (): PageFiles =>
  new Map([...filesOf("dashboard", PAGE_FOLDER, "/", POLICY), ...filesOf("verifier", VERIFIER, "/verifier/", VERIFIER_POLICY)]);

/** @param prefix of the paths */
function filesOf(what: string, folder: string, prefix: string, policy: string): PageFiles {
  try {
    const files = new Map<string, PageFile>();
    for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
      if (!entry.isFile()) continue;
      const file = join(entry.parentPath, entry.name);
      const path = file.slice(folder.length).replaceAll("\\", "/");
      const type = TYPES[extname(file)];
      if (type === undefined) throw new Error(`no type is known for ${file}`);
      files.set(`${prefix}${path === "index.html" ? "" : path}`, {
        type,
        policy,
        body: readFileSync(file),
        isImmutable: path.startsWith("assets/"),
      });
    }
    return files;
  } catch (error) {
    throw new UserError(`the page of the ${what} is not built (${folder}): run npm run build`, { cause: error });
  }
}
