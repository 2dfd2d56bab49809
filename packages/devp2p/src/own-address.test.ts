import type { Gateway, PortMapping, UPnPNAT } from "@achingbrain/nat-port-mapper";
import { silentLogger } from "@rnode/observe";
import type { Mapping } from "@rnode/peering";
import { systemClock } from "@rnode/program";
import { describe, expect, it, vi } from "vitest";
import type { NatSetting } from "./network.ts";
import { OwnAddress } from "./own-address.ts";

/** A router that passes each port on from the next higher one. */
function router(): { readonly client: Pick<UPnPNAT, "findGateways">; readonly asked: string[]; isStopped: boolean } {
  const state = { asked: [] as string[], isStopped: false };
  const gateway = {
    family: "IPv4",
    async *mapAll(port: number, { protocol = "tcp" } = {}): AsyncGenerator<PortMapping> {
      state.asked.push(`${protocol} ${port}`);
      const [externalHost, internalHost] = ["203.0.113.7", "192.168.1.2"];
      yield {
        externalHost,
        internalHost,
        externalPort: port + 1,
        internalPort: port,
        protocol: protocol === "udp" ? "UDP" : "TCP",
      };
    },
    async stop() {
      state.isStopped = true;
    },
  } as unknown as Gateway;
  const client: Pick<UPnPNAT, "findGateways"> = {
    async *findGateways() {
      yield gateway;
    },
  };
  return Object.assign(state, { client });
}

async function addressOf(ip: string, nat: NatSetting, udpPort: number | undefined) {
  const upnp = router();
  const told: Mapping[] = [];
  const address = new OwnAddress(
    { listen: { ip, tcpPort: 0, udpPort: 0 }, nat },
    { clock: systemClock, log: silentLogger, client: async () => upnp.client, onMapped: (mapping) => told.push(mapping) },
  );
  await address.map(30_303, udpPort);
  return { address, upnp, told };
}

describe("the address of this node", () => {
  it("is the router's, with the ports that it passes on, until the node closes", async () => {
    const { address, upnp, told } = await addressOf("0.0.0.0", { kind: "upnp" }, 30_305);
    expect(address.givenIp).toBeUndefined();
    await vi.waitFor(() => expect(told).toEqual([{ ip: "203.0.113.7", tcpPort: 30_304, udpPort: 30_306 }]));
    expect(address.mapping).toEqual(told[0]);
    expect(upnp.asked).toEqual(["tcp 30303", "udp 30305"]);
    await address.close();
    expect(upnp.isStopped).toBe(true);
  });

  it("has one port only without discovery", async () => {
    const { address, upnp, told } = await addressOf("0.0.0.0", { kind: "upnp" }, undefined);
    await vi.waitFor(() => expect(told).toHaveLength(1));
    expect(upnp.asked).toEqual(["tcp 30303"]);
    await address.close();
  });

  it.each<[string, string, NatSetting, string | undefined]>([
    ["what the operator says", "0.0.0.0", { kind: "ip", ip: "192.0.2.9" }, "192.0.2.9"],
    ["that of a loopback, which no router reaches", "127.0.0.1", { kind: "upnp" }, "127.0.0.1"],
    ["what others see, when nothing is to be asked", "0.0.0.0", { kind: "none" }, undefined],
  ])("is %s, and no router is asked", async (_, ip, nat, expected) => {
    const { address, upnp } = await addressOf(ip, nat, 30_305);
    expect([address.givenIp, address.mapping]).toEqual([expected, undefined]);
    await address.close();
    expect(upnp.asked).toEqual([]);
  });
});
