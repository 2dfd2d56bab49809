import { createSocket, type Socket } from "node:dgram";
import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { findRouters } from "./find-routers.ts";
import type { RouterSearch } from "./router-search.ts";

const service = (type: string, control: string): string =>
  `<service><serviceType>urn:schemas-upnp-org:service:${type}</serviceType><controlURL>${control}</controlURL></service>`;
const text = (xml: string, name: string): string => new RegExp(`<${name}>([^<]*)</${name}>`).exec(xml)?.[1] ?? "";
const fault = (code: number): string =>
  `<s:Envelope><s:Body><s:Fault><detail><UPnPError><errorCode>${code}</errorCode><errorDescription>no &amp; no</errorDescription></UPnPError></detail></s:Fault></s:Body></s:Envelope>`;

/** A router on the loopback interface that answers searches and maps ports by UPnP. */
class LoopbackRouter {
  readonly mappings = new Map<string, string>();
  readonly taken = new Set<string>();
  services = service("WANIPConnection:1", "/ctl");
  location: (port: number) => string = (port) => `http://127.0.0.1:${port}/desc.xml`;
  deviceVersion = 1;
  externalIp = "203.0.113.7";
  onlyPermanent = false;
  readonly #http: Server;
  readonly #ssdp: Socket = createSocket("udp4");

  constructor() {
    this.#http = createServer((request, response) => {
      let body = "";
      request.on("data", (chunk) => (body += chunk));
      request.on("end", () => {
        const [status, answer] =
          request.method === "GET" ? [200, this.#description()] : this.#control(String(request.headers.soapaction), body);
        response.writeHead(status, { "content-type": "text/xml" }).end(answer);
      });
    });
  }

  async start(): Promise<Partial<RouterSearch>> {
    this.#http.listen(0, "127.0.0.1");
    this.#ssdp.bind(0, "127.0.0.1");
    await Promise.all([once(this.#http, "listening"), once(this.#ssdp, "listening")]);
    const { port } = this.#http.address() as AddressInfo;
    this.#ssdp.on("message", (data, from) => {
      const st = `urn:schemas-upnp-org:device:InternetGatewayDevice:${this.deviceVersion}`;
      if (!data.toString().includes(`ST: ${st}\r\n`)) return;
      this.#ssdp.send(`HTTP/1.1 200 OK\r\nST: ${st}\r\nLocation: ${this.location(port)}\r\n\r\n`, from.port, from.address);
    });
    return { localIps: ["127.0.0.1"], target: { ip: "127.0.0.1", port: this.#ssdp.address().port }, limitMs: 1_500 };
  }

  async stop(): Promise<void> {
    this.#ssdp.close();
    this.#http.closeAllConnections();
    this.#http.close();
    await once(this.#http, "close");
  }

  #description(): string {
    return `<?xml version="1.0"?><root xmlns="urn:schemas-upnp-org:device-1-0"><device><serviceList>${this.services}</serviceList></device></root>`;
  }

  #control(action: string, body: string): [number, string] {
    const port = text(body, "NewExternalPort");
    const key = `${text(body, "NewProtocol")} ${port}`;
    if (action.endsWith('#GetExternalIPAddress"'))
      return [200, `<s:Envelope><s:Body><NewExternalIPAddress>${this.externalIp}</NewExternalIPAddress></s:Body></s:Envelope>`];
    if (action.endsWith('#AddPortMapping"')) {
      if (this.taken.has(key)) return [500, fault(718)];
      const lease = text(body, "NewLeaseDuration");
      if (this.onlyPermanent && lease !== "0") return [500, fault(725)];
      this.mappings.set(key, `${text(body, "NewInternalClient")}:${text(body, "NewInternalPort")} for ${lease}`);
      return [200, ""];
    }
    if (action.endsWith('#DeletePortMapping"')) return this.mappings.delete(key) ? [200, ""] : [500, fault(714)];
    return [500, fault(401)];
  }
}

describe("a router on the local network", () => {
  const router = { current: new LoopbackRouter() };
  const { signal } = new AbortController();

  beforeEach(() => {
    router.current = new LoopbackRouter();
  });
  afterEach(() => router.current.stop());

  const find = async () => {
    const found = [];
    for await (const each of findRouters(signal, await router.current.start())) {
      found.push(each);
      break;
    }
    return found;
  };

  it.each([1, 2])(
    "of version %i of the standard is found, maps ports, and takes back exactly what it is told to",
    async (version) => {
      router.current.deviceVersion = version;
      router.current.services = service(`WANIPConnection:${version}`, "/ctl");
      const [found] = await find();
      expect(await found!.externalIp(signal)).toBe("203.0.113.7");
      expect(await found!.map("TCP", 30_303, 30_303, 1_200, signal)).toBe(30_303);
      expect(await found!.map("UDP", 30_303, 30_303, 1_200, signal)).toBe(30_303);
      const to = "127.0.0.1:30303 for 1200";
      expect([...router.current.mappings]).toEqual([
        ["TCP 30303", to],
        ["UDP 30303", to],
      ]);
      await found!.unmap("UDP", 30_303, signal);
      expect([...router.current.mappings.keys()]).toEqual(["TCP 30303"]);
    },
  );

  it("gives another port where somebody has the wanted one, and a mapping without an end where it knows no other", async () => {
    router.current.taken.add("TCP 65535").add("TCP 1024");
    router.current.onlyPermanent = true;
    const [found] = await find();
    expect(await found!.map("TCP", 30_303, 65_535, 1_200, signal)).toBe(1_025);
    expect([...router.current.mappings]).toEqual([["TCP 1025", "127.0.0.1:30303 for 0"]]);
  });

  it("says why it does not do it", async () => {
    for (let port = 30_303; port < 30_320; port++) router.current.taken.add(`TCP ${port}`);
    const [found] = await find();
    await expect(found!.map("TCP", 30_303, 30_303, 1_200, signal)).rejects.toThrow("AddPortMapping with error 718 (no & no)");
    await expect(found!.unmap("TCP", 30_303, signal)).rejects.toThrow("DeletePortMapping with error 714");
    router.current.externalIp = "";
    await expect(found!.externalIp(signal)).rejects.toThrow('no address outside: it says ""');
  });

  it.each<[string, (router: LoopbackRouter) => void]>([
    ["names a description elsewhere", (it) => (it.location = (port) => `http://127.0.0.2:${port}/desc.xml`)],
    ["is controlled elsewhere", (it) => (it.services = service("WANIPConnection:1", "http://127.0.0.2:1/ctl"))],
    ["has nothing that maps ports", (it) => (it.services = service("Layer3Forwarding:1", "/l3f"))],
    ["describes itself without end", (it) => (it.services = "x".repeat(300_000))],
  ])("that %s is not asked", async (_, change) => {
    change(router.current);
    expect(await find()).toEqual([]);
  });
});
