// The shared parts of the programs' HTTP servers, without the JSON-RPC server.
export { DEFAULT_VHOSTS, INVALID_HOST, isAllowedHost, isAllowedOrigin, ORIGIN_NOT_ALLOWED } from "../auth/browser-access.ts";
export { clientOf } from "../limits/connection-places.ts";
export { guarded, type RequestHandler, targetOf } from "../methods/request-handler.ts";
export { statusOfHealth } from "./health.ts";
