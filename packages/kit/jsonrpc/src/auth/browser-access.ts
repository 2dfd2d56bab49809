import type { IncomingHttpHeaders } from "node:http";
import { isIP } from "node:net";

// A web page can make its visitor's browser send requests to a server on the visitor's machine or network. `Origin` shows the
// page of such a request. `Host` shows a page whose own name resolves to the server (DNS rebinding).

/** Default names accepted in the Host header. */
export const DEFAULT_VHOSTS: readonly string[] = ["localhost"];

/** In a list of origins: pages of this machine and browser extensions, such as wallets. */
export const LOCAL_ORIGINS = "local";

const LOCAL_PAGE = /^https?:\/\/(?:localhost|127\.0\.0\.1|\[::1\])(?::\d+)?$/i;
/** Its user installed the extension; a page cannot send this origin. */
const EXTENSION = /^(?:chrome|moz|safari-web)-extension:\/\/[\w-]+$/i;

/** Addresses always pass, for no name was resolved to reach them; so does a request without the header, which browsers do not send. */
export function isAllowedHost(header: string | undefined, vhosts: readonly string[]): boolean {
  if (header === undefined || vhosts.includes("*")) return true;
  const host = (/^\[([^\]]*)\]/.exec(header)?.[1] ?? header.replace(/:\d*$/, "")).toLowerCase();
  return isIP(host) !== 0 || vhosts.some((name) => name.toLowerCase() === host);
}

/** Whether a page may send requests: one of the origins listed, or one that this server is the host of. */
export function isAllowedOrigin({ origin, host }: IncomingHttpHeaders, allowed: readonly string[]): boolean {
  if (origin === undefined) return true;
  return isListed(origin, allowed) || origin.toLowerCase().replace(/^https?:\/\//, "") === host?.toLowerCase();
}

/** The same for WebSockets, which browsers open to any server without asking it first. Nothing listed: pages of this machine. */
export function isAllowedWsOrigin(headers: IncomingHttpHeaders, allowed: readonly string[]): boolean {
  if (isAllowedOrigin(headers, allowed)) return true;
  return allowed.length === 0 && LOCAL_PAGE.test(headers.origin ?? "");
}

/** Whether a list of origins contains this one. */
export const isListed = (origin: string, allowed: readonly string[]): boolean =>
  allowed.includes("*") ||
  allowed.some((one) => one.toLowerCase() === origin.toLowerCase()) ||
  (allowed.includes(LOCAL_ORIGINS) && (LOCAL_PAGE.test(origin) || EXTENSION.test(origin)));

/** Texts of the two refusals, status 403. */
export const INVALID_HOST = "invalid host specified";
export const ORIGIN_NOT_ALLOWED = "origin not allowed";
