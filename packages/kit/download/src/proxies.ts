import { type Dispatcher, EnvHttpProxyAgent, fetch as plainFetch } from "undici";

/** The agent for the present values of the variables; another one is made when they change. */
let current: { readonly key: string; readonly agent: Dispatcher } | undefined;

const variable = (name: string): string | undefined => process.env[name.toLowerCase()] || process.env[name] || undefined;

/** A proxy may be given without its scheme (`proxy:3128`), as curl accepts it. */
const proxyUrl = (value: string | undefined): string => {
  if (value === undefined) return "";
  return /^[a-z][a-z0-9+.-]*:\/\//i.test(value) ? value : `http://${value}`;
};

/**
 * How to reach a server: through the proxies that `HTTPS_PROXY`, `HTTP_PROXY` and `NO_PROXY` name (in lower case first, as curl reads them), or
 * directly.
 *
 * @returns `undefined` if no proxy is named
 * @throws {Error} if a variable holds no URL
 */
export function proxyAgent(): Dispatcher | undefined {
  const [httpProxy, httpsProxy] = [proxyUrl(variable("HTTP_PROXY")), proxyUrl(variable("HTTPS_PROXY"))];
  if (httpProxy === "" && httpsProxy === "") return undefined;
  const noProxy = variable("NO_PROXY") ?? "";
  const key = JSON.stringify([httpProxy, httpsProxy, noProxy]);
  if (current?.key === key) return current.agent;
  for (const [name, value] of [
    ["HTTP_PROXY", httpProxy],
    ["HTTPS_PROXY", httpsProxy],
  ] as const) {
    if (value !== "" && !(URL.canParse(value) && /^https?:$/.test(new URL(value).protocol)))
      throw new Error(`${name} names no HTTP proxy: set it to a URL such as http://proxy:3128`);
  }
  // Without a tunnel for http: URLs, because many proxies refuse CONNECT to other ports than 443.
  const agent = new EnvHttpProxyAgent({ httpProxy, httpsProxy, noProxy, proxyTunnel: false });
  current = { key, agent };
  return agent;
}

/** `fetch` through these proxies, for a client library of another protocol. */
export const proxiedFetch: typeof fetch = (url, options) => {
  const dispatcher = proxyAgent();
  const request = { ...options, ...(dispatcher === undefined ? {} : { dispatcher }) };
  return plainFetch(url as string, request as Parameters<typeof plainFetch>[1]) as unknown as Promise<Response>;
};
