import type { GossipSub, GossipSubComponents } from "@libp2p/gossipsub";
import type { Connection, PeerId, Stream, StreamHandler, Topology } from "@libp2p/interface";
import { describe, expect, it } from "vitest";
import { guardRouter, withBoundedStreams } from "./guarded-router.ts";

/** Components that store gossipsub's registrations. */
function setUp() {
  const registered: { handler?: StreamHandler; topology?: Topology } = {};
  const registrar = {
    handle: (_: string, handler: StreamHandler) => Promise.resolve(void (registered.handler = handler)),
    register: (_: string, topology: Topology) => Promise.resolve(void (registered.topology = topology)),
    protocols: ["/one"],
    getProtocols(): readonly string[] {
      return this.protocols;
    },
  };
  const { registrar: bounded } = withBoundedStreams({ registrar } as unknown as GossipSubComponents);
  return { bounded, registered };
}

function fakeConnection() {
  const aborts: Error[] = [];
  const stream = new EventTarget();
  const connection = {
    status: "open",
    remotePeer: "peer",
    newStream: () => Promise.resolve(stream),
    abort(error: Error) {
      aborts.push(error);
      this.status = "aborted";
    },
  };
  const fail = (error?: Error) => stream.dispatchEvent(Object.assign(new Event("close"), { error }));
  return { connection: connection as unknown as Connection, aborts, fail };
}

describe("gossipsub's streams", () => {
  it.each(["topology", "handler"] as const)(
    "end the connection when one that it opened fails, over a connection of the %s",
    async (source) => {
      const { bounded, registered } = setUp();
      let given!: Connection;
      await bounded.register("/one", { onConnect: (_, connection) => void (given = connection) });
      await bounded.handle("/one", (_, connection) => void (given = connection));
      const { connection, aborts, fail } = fakeConnection();
      if (source === "topology") await registered.topology?.onConnect?.("peer" as unknown as PeerId, connection);
      else await registered.handler?.({} as Stream, connection);
      expect(given.remotePeer).toBe("peer");
      await given.newStream("/one");
      const error = new Error("the peer does not read");
      fail(error);
      fail(error);
      expect(aborts).toEqual([error]);
    },
  );

  it("do not end it when they end in order", async () => {
    const { bounded, registered } = setUp();
    let given!: Connection;
    await bounded.handle("/one", (_, connection) => void (given = connection));
    const { connection, aborts, fail } = fakeConnection();
    await registered.handler?.({} as Stream, connection);
    await given.newStream("/one");
    fail();
    expect(aborts).toEqual([]);
  });

  it("leave the rest of the components as it is", () => {
    expect(setUp().bounded.getProtocols()).toEqual(["/one"]);
  });
});

describe("a router of another version", () => {
  it("is refused", () => {
    expect(() => guardRouter({} as GossipSub, { admit: () => Promise.resolve() })).toThrow("belongs to one version");
  });
});
