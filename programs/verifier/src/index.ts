import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import { extname, join, normalize } from "node:path";
import { pipeline } from "node:stream/promises";
import { fileURLToPath } from "node:url";
import { startSmallServer } from "@rnode/program";

/** The folder with the built page, for any server of static files. */
export const PAGE_FOLDER = fileURLToPath(new URL("../build/page/", import.meta.url));

const TYPES: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript",
  ".css": "text/css",
  ".svg": "image/svg+xml",
  ".wasm": "application/wasm",
};
/** For the header content-security-policy: the page runs its own WebAssembly, and may ask nodes for blocks. */
export const PAGE_POLICY =
  "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; worker-src 'self'; style-src 'self'; img-src 'self'; connect-src *; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

const IDLE_MS = 30_000;

/** Serves the page to this machine. @param port 0: any */
export async function servePage(port = 0): Promise<{ readonly url: string; close(): Promise<void> }> {
  const server = await startSmallServer(
    async ({ path }, response) => {
      const file = join(PAGE_FOLDER, path === "/" ? "index.html" : normalize(path));
      const found = await stat(file).catch(() => undefined);
      if (found?.isFile() !== true) {
        response.writeHead(404, { "content-type": "text/plain" }).end("not found\n");
        return;
      }
      response.writeHead(200, {
        "content-type": TYPES[extname(file)] ?? "application/octet-stream",
        "content-security-policy": PAGE_POLICY,
        "x-content-type-options": "nosniff",
        "referrer-policy": "no-referrer",
      });
      await pipeline(createReadStream(file), response);
    },
    { addr: "127.0.0.1", port, verbs: ["GET", "HEAD"], idleMs: IDLE_MS },
  );
  return { url: `http://127.0.0.1:${server.port}/`, close: () => server.close() };
}
