import { type RouterSearch, searchRouters } from "./router-search.ts";
import { connectionsOf, type Router } from "./upnp-router.ts";

/** Finds routers that map ports (UPnP), each with all its connections to the outside. One that answers nonsense is left out. */
export async function* findRouters(signal: AbortSignal, search: Partial<RouterSearch> = {}): AsyncGenerator<Router, void> {
  for await (const answer of searchRouters(signal, search)) yield* await connectionsOf(answer, signal).catch(() => []);
}
