import { createRequire } from "node:module";
import type { Pool } from "undici";

/**
 * Connections to one endpoint. Of undici only its pool and `request` are loaded, with the first pool: all of it, with its fetch and its
 * mocks, would take 6 MiB more.
 */
export function createHttpPool(origin: string, options: Pool.Options): Pool {
  const load = createRequire(import.meta.url);
  const HttpPool = load("undici/lib/dispatcher/pool.js") as typeof Pool;
  // undici's index.js does the same, for all its methods.
  const prototype: { request?: unknown } = HttpPool.prototype;
  prototype.request ??= load("undici/lib/api/api-request.js");
  return new HttpPool(origin, options);
}
