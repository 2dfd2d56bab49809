import { isIPv4 } from "node:net";
import type { RouterAnswer } from "./router-search.ts";

export type MappedProtocol = "TCP" | "UDP";

/** A router that maps ports. */
export interface Router {
  externalIp(signal: AbortSignal): Promise<string>;
  /**
   * Maps a router's port to the same local port, or renews the mapping.
   *
   * @returns the router's port: the wanted one, or another if it is taken
   * @throws {Error} the router's error
   */
  map(protocol: MappedProtocol, localPort: number, wantedPort: number, leaseSec: number, signal: AbortSignal): Promise<number>;
  unmap(protocol: MappedProtocol, externalPort: number, signal: AbortSignal): Promise<void>;
}

/** Services with port mapping; each version has the used methods. */
const SERVICES = ["WANIPConnection:2", "WANIPConnection:1", "WANPPPConnection:1"].map(
  (name) => `urn:schemas-upnp-org:service:${name}`,
);
const MAX_BODY_BYTES = 256 * 1024;
const REQUEST_LIMIT_MS = 5_000;
/** Number of ports to try if the wanted one is taken. */
const MAX_PORTS = 8;
const ONLY_PERMANENT_LEASES = 725;
/** by code: another port may do */
const CONFLICTS = [718, 729];

/** A router's error answer. */
class RouterError extends Error {
  readonly code: number;
  constructor(action: string, code: number, description: string) {
    super(`the router answers ${action} with error ${code}${description === "" ? "" : ` (${description})`}`);
    this.code = code;
  }
}

/** One connection of a router to the outside (UPnP WANIPConnection and WANPPPConnection). */
class UpnpRouter implements Router {
  readonly #service: string;
  readonly #controlUrl: string;
  readonly #localIp: string;

  constructor(service: string, controlUrl: string, localIp: string) {
    this.#service = service;
    this.#controlUrl = controlUrl;
    this.#localIp = localIp;
  }

  async externalIp(signal: AbortSignal): Promise<string> {
    const ip = elementText(await this.#call("GetExternalIPAddress", [], signal), "NewExternalIPAddress") ?? "";
    if (!isIPv4(ip) || ip === "0.0.0.0") throw new Error(`the router has no address outside: it says ${JSON.stringify(ip)}`);
    return ip;
  }

  async map(
    protocol: MappedProtocol,
    localPort: number,
    wantedPort: number,
    leaseSec: number,
    signal: AbortSignal,
  ): Promise<number> {
    let lease = leaseSec;
    let port = wantedPort;
    for (let tried = 1; ; ) {
      try {
        await this.#call(
          "AddPortMapping",
          [
            ["NewRemoteHost", ""],
            ["NewExternalPort", port],
            ["NewProtocol", protocol],
            ["NewInternalPort", localPort],
            ["NewInternalClient", this.#localIp],
            ["NewEnabled", 1],
            ["NewPortMappingDescription", "rnode"],
            ["NewLeaseDuration", lease],
          ],
          signal,
        );
        return port;
      } catch (error) {
        if (!(error instanceof RouterError)) throw error;
        if (error.code === ONLY_PERMANENT_LEASES && lease !== 0) {
          lease = 0;
        } else if (CONFLICTS.includes(error.code) && tried < MAX_PORTS) {
          tried++;
          port = port === 65_535 ? 1_024 : port + 1;
        } else throw error;
      }
    }
  }

  async unmap(protocol: MappedProtocol, externalPort: number, signal: AbortSignal): Promise<void> {
    const which = [
      ["NewRemoteHost", ""],
      ["NewExternalPort", externalPort],
      ["NewProtocol", protocol],
    ] as const;
    await this.#call("DeletePortMapping", which, signal);
  }

  async #call(action: string, args: readonly (readonly [string, string | number])[], signal: AbortSignal): Promise<string> {
    const body =
      `<?xml version="1.0"?>\r\n<s:Envelope xmlns:s="http://schemas.xmlsoap.org/soap/envelope/" ` +
      `s:encodingStyle="http://schemas.xmlsoap.org/soap/encoding/"><s:Body><u:${action} xmlns:u="${this.#service}">` +
      args.map(([name, value]) => `<${name}>${value}</${name}>`).join("") +
      `</u:${action}></s:Body></s:Envelope>\r\n`;
    const headers = { "content-type": 'text/xml; charset="utf-8"', soapaction: `"${this.#service}#${action}"` };
    const { status, text } = await ask(this.#controlUrl, { method: "POST", headers, body }, signal);
    if (status === 200) return text;
    throw new RouterError(action, Number(elementText(text, "errorCode") ?? status), elementText(text, "errorDescription") ?? "");
  }
}

/**
 * Reads a router's description.
 *
 * @returns its external connections, the best method first
 */
export async function connectionsOf({ location, localIp }: RouterAnswer, signal: AbortSignal): Promise<Router[]> {
  const { status, text } = await ask(location, {}, signal);
  if (status !== 200) throw new Error(`the router answers ${location} with HTTP status ${status}`);
  const base = elementText(text, "URLBase") || location;
  const { hostname } = new URL(location);
  const connections: { readonly rank: number; readonly router: Router }[] = [];
  for (const [, service = ""] of text.matchAll(/<service>([\s\S]*?)<\/service>/g)) {
    const type = elementText(service, "serviceType") ?? "";
    const path = elementText(service, "controlURL");
    const rank = SERVICES.indexOf(type);
    if (rank < 0 || path === undefined || !URL.canParse(path, base)) continue;
    const url = new URL(path, base);
    // a router speaks for itself
    if (url.protocol === "http:" && url.hostname === hostname)
      connections.push({ rank, router: new UpnpRouter(type, url.href, localIp) });
  }
  return connections.sort((a, b) => a.rank - b.rank).map(({ router }) => router);
}

/** The text of the first element of this name, with any namespace prefix. */
function elementText(xml: string, name: string): string | undefined {
  const text = new RegExp(`<(?:[\\w-]+:)?${name}(?:\\s[^>]*)?>([^<]*)<`).exec(xml)?.[1];
  return text?.trim().replaceAll("&amp;", "&");
}

async function ask(url: string, request: RequestInit, signal: AbortSignal): Promise<{ status: number; text: string }> {
  const limit = AbortSignal.any([signal, AbortSignal.timeout(REQUEST_LIMIT_MS)]);
  const response = await fetch(url, { ...request, redirect: "error", signal: limit });
  const parts: Uint8Array[] = [];
  let size = 0;
  for await (const part of response.body ?? []) {
    size += part.length;
    if (size > MAX_BODY_BYTES) throw new Error(`the router answers ${url} with more than ${MAX_BODY_BYTES} bytes`);
    parts.push(part);
  }
  return { status: response.status, text: Buffer.concat(parts).toString("utf8") };
}
