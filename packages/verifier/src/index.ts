import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { extname, join, normalize } from "node:path";
import { fileURLToPath } from "node:url";

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

/** Serves the page to this machine. @param port 0: any */
export async function servePage(port = 0): Promise<{ readonly url: string; close(): Promise<void> }> {
  const server = createServer((request, response) => {
    const path = normalize(decodeURI(new URL(request.url ?? "/", "http://localhost").pathname));
    const file = join(PAGE_FOLDER, path === "/" ? "index.html" : path);
    const headers = {
      "content-type": TYPES[extname(file)] ?? "application/octet-stream",
      "content-security-policy": PAGE_POLICY,
      "x-content-type-options": "nosniff",
      "referrer-policy": "no-referrer",
    };
    void stat(file).then(
      (found) => {
        if (!found.isFile()) response.writeHead(404).end();
        else createReadStream(file).pipe(response.writeHead(200, headers));
      },
      () => response.writeHead(404).end(),
    );
  });
  await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
