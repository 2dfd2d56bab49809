import { describe, expect, it } from "vitest";
import { DEFAULT_VHOSTS, isAllowedHost, isAllowedOrigin, isAllowedWsOrigin } from "./browser-access.ts";

describe("the name a request is addressed to", () => {
  it.each<[host: string | undefined, vhosts: readonly string[], isAllowed: boolean]>([
    ["localhost", DEFAULT_VHOSTS, true],
    ["LocalHost:8545", DEFAULT_VHOSTS, true],
    ["127.0.0.1:8545", DEFAULT_VHOSTS, true],
    ["10.1.2.3", DEFAULT_VHOSTS, true],
    ["[::1]:8545", DEFAULT_VHOSTS, true],
    [undefined, DEFAULT_VHOSTS, true],
    ["evil.example:8545", DEFAULT_VHOSTS, false],
    ["localhost.evil.example", DEFAULT_VHOSTS, false],
    ["127.0.0.1.evil.example", DEFAULT_VHOSTS, false],
    ["", DEFAULT_VHOSTS, false],
    ["node.example", ["a.example", "Node.Example"], true],
    ["localhost", ["node.example"], false],
    ["evil.example", ["*"], true],
  ])("%s of %j: %s", (host, vhosts, isAllowed) => {
    expect(isAllowedHost(host, vhosts)).toBe(isAllowed);
  });
});

describe("the page a request comes from", () => {
  it.each<[origin: string | undefined, allowed: readonly string[], http: boolean, ws: boolean]>([
    [undefined, [], true, true],
    ["https://app.example", ["https://app.example"], true, true],
    ["https://APP.example", ["https://app.example"], true, true],
    ["http://app.example", ["https://app.example"], false, false],
    ["https://app.example.evil.example", ["https://app.example"], false, false],
    ["https://evil.example", [], false, false],
    ["https://evil.example", ["*"], true, true],
    ["null", [], false, false],
    // the server's own
    ["http://localhost:8545", ["https://app.example"], true, true],
    // pages of this machine, from another port: HTTP needs their browser's consent, which they get none for
    ["http://localhost:3000", [], false, true],
    ["http://[::1]:3000", [], false, true],
    ["http://localhost:3000", ["https://app.example"], false, false],
    ["http://localhost.evil.example", [], false, false],
  ])("%s of %j: HTTP %s, WebSocket %s", (origin, allowed, http, ws) => {
    const headers = { host: "localhost:8545", ...(origin !== undefined && { origin }) };
    expect([isAllowedOrigin(headers, allowed), isAllowedWsOrigin(headers, allowed)]).toEqual([http, ws]);
  });
});

describe("local origins", () => {
  const LOCAL = [
    ...["http://localhost:5173", "https://localhost", "http://LOCALHOST:3000", "http://127.0.0.1:8080", "http://[::1]:3000"],
    ...["chrome-extension://nkbihfbeogaeaoehlefnkodbefgpgknn", "moz-extension://0aef8a42-7a1c-4d5c-8d0e-6b0e7a4a9d11"],
    "safari-web-extension://7A1C4D5C-8D0E-4B0E-8A4A-9D110AEF8A42",
  ];
  const FOREIGN = [
    ...["https://evil.example", "null", "file://", "http://localhost.evil.example", "http://127.0.0.1.evil.example:80"],
    ...["http://evil.example/chrome-extension://x", "https://chrome-extension.example", "ftp://localhost", "http://[::1].evil"],
    ...[
      "http://localhost:80@evil.example",
      "extension://x",
      "chrome-extension://x.evil.example",
      "http://127.0.0.2:1",
      "local",
      "",
    ],
  ];
  const headers = (origin: string) => ({ host: "node.example:8545", origin });
  const verdicts = (origin: string, allowed: readonly string[]): boolean[] => [
    isAllowedOrigin(headers(origin), allowed),
    isAllowedWsOrigin(headers(origin), allowed),
  ];

  it.each(LOCAL)("%s is served where local is listed, alone or with others", (origin) => {
    expect(verdicts(origin, ["local"])).toEqual([true, true]);
    expect(verdicts(origin, ["https://app.example", "local"])).toEqual([true, true]);
    expect(verdicts(origin, ["https://app.example"])).toEqual([false, false]);
  });

  it.each(FOREIGN)("%s is not local", (origin) => {
    if (origin !== "local") expect(verdicts(origin, ["local"])).toEqual([false, false]);
    expect(isAllowedOrigin(headers(origin), [])).toBe(false);
  });
});
