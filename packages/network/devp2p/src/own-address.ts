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

/** The node's external address, without information from peers. */
export class OwnAddress {
  /** `undefined`: not known at the start */
  readonly givenIp: string | undefined;
  readonly #isMappable: boolean;
  readonly #deps: OwnAddressDeps;
  #mapping: Mapping | undefined;
  #mapper: PortMapper | undefined;

  constructor({ listen, nat }: Pick<DevP2PConfig, "listen" | "nat">, deps: OwnAddressDeps) {
    this.#deps = deps;
    // on a loopback, other nodes use the same address, and there is no router
    this.givenIp = nat.kind === "ip" ? nat.ip : isLoopback(listen.ip) ? listen.ip : undefined;
    this.#isMappable = nat.kind === "upnp" && this.givenIp === undefined;
  }

  /** A router's port mapping; `undefined`: none, or not yet. */
  get mapping(): Mapping | undefined {
    return this.#mapping;
  }

  /** Requests mappings of both ports from a router, if configured. @param udpPort `undefined`: discovery is off */
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
