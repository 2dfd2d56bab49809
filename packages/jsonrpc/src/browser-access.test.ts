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
