import type { Logger } from "@rnode/observe";
import { type Mapping, PortMapper, type PortMapperDeps } from "@rnode/peering";
import type { Clock } from "@rnode/primitives";
import type { DevP2PConfig } from "./network.ts";

export interface OwnAddressDeps {
  readonly clock: Clock;
  readonly log: Logger;
  readonly findRouters: PortMapperDeps["findRouters"];
  /** a router passes the ports on, from now on in this way */
  readonly onMapped: (mapping: Mapping) => void;
}

/** How others reach this node, as far as it can tell without them. */
export class OwnAddress {
  /** undefined: not known from the start */
  readonly givenIp: string | undefined;
  readonly #isMappable: boolean;
  readonly #deps: OwnAddressDeps;
  #mapping: Mapping | undefined;
  #mapper: PortMapper | undefined;

  constructor({ listen, nat }: Pick<DevP2PConfig, "listen" | "nat">, deps: OwnAddressDeps) {
    this.#deps = deps;
    // on a loopback, others see the same address as we do, and no router reaches it
    this.givenIp = nat.kind === "ip" ? nat.ip : isLoopback(listen.ip) ? listen.ip : undefined;
    this.#isMappable = nat.kind === "upnp" && this.givenIp === undefined;
  }

  /** What a router passes on; undefined: there is none, or not yet. */
  get mapping(): Mapping | undefined {
    return this.#mapping;
  }

  /** Asks a router for both ports, if that is wanted. @param udpPort undefined: discovery is off */
  map(tcpPort: number, udpPort: number | undefined): void {
    if (!this.#isMappable) return;
    const { findRouters, clock, log, onMapped } = this.#deps;
    const record = (mapping: Mapping): void => {
      this.#mapping = mapping;
      onMapped(mapping);
    };
    this.#mapper = new PortMapper({ tcpPort, udpPort }, { findRouters, clock, log, onMapped: record });
    this.#mapper.start();
  }

  /** Takes the mapping back. */
  async close(): Promise<void> {
    await this.#mapper?.close();
  }
}

const isLoopback = (ip: string): boolean => ip.startsWith("127.") || ip === "::1";
