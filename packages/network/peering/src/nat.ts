import type { Logger } from "@rnode/observe";
import type { Clock } from "@rnode/primitives";
import { isPrivateIp } from "./ip-address.ts";
import type { MappedProtocol, Router } from "./upnp/upnp-router.ts";

/** A router's mappings to this node. */
export interface Mapping {
  readonly ip: string;
  readonly tcpPort: number;
  /** `undefined`: only TCP was requested */
  readonly udpPort?: number | undefined;
}

export interface PortMapperOptions {
  readonly tcpPort: number;
  /** `undefined`: discovery is off */
  readonly udpPort: number | undefined;
}

export interface PortMapperDeps {
  readonly findRouters: (signal: AbortSignal) => AsyncIterable<Router>;
  /** A router passes the ports on, or has another address or other ports from now on. */
  readonly onMapped: (mapping: Mapping) => void;
  readonly clock: Clock;
  readonly log: Logger;
}

const SEARCH_LIMIT_MS = 20_000;
const RETRY_INTERVAL_MS = 5 * 60_000;
/** A mapping expires after this time without a renewal. A restarted router gets the mapping with the next renewal. */
const LEASE_SEC = 20 * 60;
const RENEW_INTERVAL_MS = 8 * 60_000;
const CLOSE_LIMIT_MS = 2_000;

/** Has the router pass our ports on (UPnP). Mappings are renewed until `close` takes them back. */
export class PortMapper {
  readonly #options: PortMapperOptions;
  readonly #deps: PortMapperDeps;
  readonly #closing = new AbortController();
  #router: Router | undefined;
  /** the router's ports */
  readonly #ports = new Map<MappedProtocol, number>();
  #told: Mapping | undefined;
  #loop: Promise<void> | undefined;

  constructor(options: PortMapperOptions, deps: PortMapperDeps) {
    this.#options = options;
    this.#deps = deps;
  }

  start(): void {
    this.#loop = this.#run();
  }

  async #run(): Promise<void> {
    const { clock, log } = this.#deps;
    const { signal } = this.#closing;
    let lastProblem: string | undefined;
    while (!signal.aborted) {
      const problem = await this.#mapOnce(AbortSignal.any([signal, AbortSignal.timeout(SEARCH_LIMIT_MS)]));
      if (signal.aborted) return;
      if (problem !== undefined && problem !== lastProblem)
        log.warn("no router maps the ports: trying every five minutes", { problem });
      lastProblem = problem;
      await clock.sleep(problem === undefined ? RENEW_INTERVAL_MS : RETRY_INTERVAL_MS, signal);
    }
  }

  /** Uses the router of the earlier mapping, or the first one that succeeds. @returns the error */
  async #mapOnce(signal: AbortSignal): Promise<string | undefined> {
    let problem = "no router answers (UPnP)";
    try {
      if (this.#router !== undefined) {
        try {
          await this.#mapWith(this.#router, signal);
          return undefined;
        } catch (error) {
          problem = messageOf(error);
        }
      }
      for await (const router of this.#deps.findRouters(signal)) {
        try {
          await this.#mapWith(router, signal);
          return undefined;
        } catch (error) {
          problem = messageOf(error);
        }
      }
    } catch (error) {
      problem = messageOf(error);
    }
    return problem;
  }

  async #mapWith(router: Router, signal: AbortSignal): Promise<void> {
    const ip = await router.externalIp(signal);
    if (router !== this.#router) this.#ports.clear();
    this.#router = router;
    const map = async (protocol: MappedProtocol, port: number): Promise<number> => {
      const mapped = await router.map(protocol, port, this.#ports.get(protocol) ?? port, LEASE_SEC, signal);
      this.#ports.set(protocol, mapped);
      return mapped;
    };
    const tcpPort = await map("TCP", this.#options.tcpPort);
    const udpPort = this.#options.udpPort === undefined ? undefined : await map("UDP", this.#options.udpPort);
    this.#tell({ ip, tcpPort, udpPort });
  }

  #tell(mapping: Mapping): void {
    const { onMapped, log } = this.#deps;
    const told = this.#told;
    if (told?.ip === mapping.ip && told.tcpPort === mapping.tcpPort && told.udpPort === mapping.udpPort) return;
    this.#told = mapping;
    if (isPrivateIp(mapping.ip)) {
      log.warn("the router's own address is private: there is another router before it, and others cannot connect", { ...mapping });
    } else {
      log.info("the router passes our ports on", { ...mapping });
      onMapped(mapping);
    }
  }

  async close(): Promise<void> {
    this.#closing.abort();
    await this.#loop;
    const limit = AbortSignal.timeout(CLOSE_LIMIT_MS);
    for (const [protocol, port] of this.#ports) {
      await this.#router?.unmap(protocol, port, limit).catch((error: unknown) => {
        this.#deps.log.warn("the router keeps a port mapped until its lease ends", { protocol, port, reason: messageOf(error) });
      });
    }
  }
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
