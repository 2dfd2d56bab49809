import { readdirSync, readFileSync } from "node:fs";
import { extname, join } from "node:path";
import { UserError } from "@rnode/program";
import { PAGE_FOLDER } from "../page-folder.ts";

export interface PageFile {
  readonly type: string;
  readonly body: Buffer;
  /** its name changes with its content */
  readonly isImmutable: boolean;
}

/** Files by their paths below the page's address: `/`, `/assets/…`. */
export type PageFiles = ReadonlyMap<string, PageFile>;

const TYPES: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
};

/** The page as the build left it. @throws {UserError} it was not built */
export function readPage(folder = PAGE_FOLDER): PageFiles {
  try {
    const files = new Map<string, PageFile>();
    for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
      if (!entry.isFile()) continue;
      const file = join(entry.parentPath, entry.name);
      const path = `/${file.slice(folder.length).replaceAll("\\", "/")}`;
      const type = TYPES[extname(file)];
      if (type === undefined) throw new Error(`no type is known for ${file}`);
      files.set(path === "/index.html" ? "/" : path, {
        type,
        body: readFileSync(file),
        isImmutable: path.startsWith("/assets/"),
      });
    }
    return files;
  } catch (error) {
    throw new UserError(`the page of the dashboard is not built (${folder}): run npm run build`, { cause: error });
  }
}
