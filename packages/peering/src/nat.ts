import type { Gateway, UPnPNAT } from "@achingbrain/nat-port-mapper";
import type { Logger } from "@rnode/observe";
import type { Clock } from "@rnode/primitives";
import { isPrivateIp } from "./ip-address.ts";

/** What the router passes on to this node. */
export interface Mapping {
  readonly ip: string;
  readonly tcpPort: number;
  /** undefined: only TCP was asked for */
  readonly udpPort?: number | undefined;
}

export interface PortMapperOptions {
  readonly tcpPort: number;
  /** undefined: discovery is off */
  readonly udpPort: number | undefined;
}

export interface PortMapperDeps {
  readonly client: Pick<UPnPNAT, "findGateways">;
  readonly onMapped: (mapping: Mapping) => void;
  readonly clock: Clock;
  readonly log: Logger;
}

const SEARCH_LIMIT_MS = 10_000;
const RETRY_INTERVAL_MS = 5 * 60_000;
const CLOSE_LIMIT_MS = 2_000;

/** Has the router pass our ports on (UPnP). Mappings are renewed until `close` takes them back. */
export class PortMapper {
  readonly #options: PortMapperOptions;
  readonly #deps: PortMapperDeps;
  readonly #closing = new AbortController();
  #gateway: Gateway | undefined;
  #loop: Promise<void> | undefined;

  constructor(options: PortMapperOptions, deps: PortMapperDeps) {
    this.#options = options;
    this.#deps = deps;
  }

  start(): void {
    this.#loop = this.#run();
  }

  /** Until a router has done it, or the node closes. */
  async #run(): Promise<void> {
    const { clock, log } = this.#deps;
    const { signal } = this.#closing;
    for (let attempt = 1; !signal.aborted; attempt++) {
      try {
        if (await this.#mapOnce()) return;
        if (attempt === 1) log.warn("no router that maps ports (UPnP) was found: searching again every five minutes");
      } catch (error) {
        if (signal.aborted) return;
        log.warn("the router does not map the ports: trying again in five minutes", { error });
      }
      await clock.sleep(RETRY_INTERVAL_MS, signal);
    }
  }

  async #mapOnce(): Promise<boolean> {
    const { client, onMapped, log } = this.#deps;
    const { tcpPort, udpPort } = this.#options;
    const signal = AbortSignal.any([this.#closing.signal, AbortSignal.timeout(SEARCH_LIMIT_MS)]);
    try {
      for await (const gateway of client.findGateways({ signal, searchInterval: 1_000 })) {
        if (gateway.family !== "IPv4") continue;
        const tcp = await first(gateway.mapAll(tcpPort, { protocol: "tcp", description: "rnode", signal }));
        const udp =
          udpPort === undefined
            ? undefined
            : await first(gateway.mapAll(udpPort, { protocol: "udp", description: "rnode", signal }));
        this.#gateway = gateway;
        const mapping = { ip: tcp.externalHost, tcpPort: tcp.externalPort, udpPort: udp?.externalPort };
        if (isPrivateIp(mapping.ip)) {
          log.warn("the router's own address is private: there is another router before it, and others cannot connect", mapping);
        } else {
          log.info("the router passes our ports on", mapping);
          onMapped(mapping);
        }
        return true;
      }
    } catch (error) {
      // the search ends with its time
      if (!(signal.aborted && this.#gateway === undefined)) throw error;
    }
    return false;
  }

  async close(): Promise<void> {
    this.#closing.abort();
    await this.#loop;
    await this.#gateway?.stop({ signal: AbortSignal.timeout(CLOSE_LIMIT_MS) }).catch(() => {});
  }
}

async function first<T>(items: AsyncGenerator<T, void, unknown>): Promise<T> {
  for await (const item of items) return item;
  throw new Error("the router has mapped nothing");
}
