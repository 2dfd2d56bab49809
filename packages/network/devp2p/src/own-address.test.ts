import { silentLogger } from "@rnode/observe";
import type { Mapping, Router } from "@rnode/peering";
import { systemClock } from "@rnode/program";
import { describe, expect, it, vi } from "vitest";
import type { NatSetting } from "./network.ts";
import { OwnAddress } from "./own-address.ts";

/** A router that passes each port on from the next higher one. */
function router() {
  const asked: string[] = [];
  const mapped = new Set<string>();
  const found: Router = {
    externalIp: async () => "203.0.113.7",
    async map(protocol, port) {
      asked.push(`${protocol} ${port}`);
      mapped.add(`${protocol} ${port + 1}`);
      return port + 1;
    },
    async unmap(protocol, port) {
      mapped.delete(`${protocol} ${port}`);
    },
  };
  async function* findRouters() {
    yield found;
  }
  return { asked, mapped, findRouters };
}

async function addressOf(ip: string, nat: NatSetting, udpPort: number | undefined) {
  const upnp = router();
  const told: Mapping[] = [];
  const address = new OwnAddress(
    { listen: { ip, tcpPort: 0, udpPort: 0 }, nat },
    { clock: systemClock, log: silentLogger, findRouters: upnp.findRouters, onMapped: (mapping) => told.push(mapping) },
  );
  address.map(30_303, udpPort);
  return { address, upnp, told };
}

describe("the address of this node", () => {
  it("is the router's, with the ports that it passes on, until the node closes", async () => {
    const { address, upnp, told } = await addressOf("0.0.0.0", { kind: "upnp" }, 30_305);
    expect(address.givenIp).toBeUndefined();
    await vi.waitFor(() => expect(told).toEqual([{ ip: "203.0.113.7", tcpPort: 30_304, udpPort: 30_306 }]), 60_000);
    expect(address.mapping).toEqual(told[0]);
    expect(upnp.asked).toEqual(["TCP 30303", "UDP 30305"]);
    expect(upnp.mapped.size).toBe(2);
    await address.close();
    expect(upnp.mapped.size).toBe(0);
  });

  it("has one port only without discovery", async () => {
    const { address, upnp, told } = await addressOf("0.0.0.0", { kind: "upnp" }, undefined);
    await vi.waitFor(() => expect(told).toHaveLength(1), 60_000);
    expect(upnp.asked).toEqual(["TCP 30303"]);
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
