import { once } from "node:events";
import { type AddressInfo, connect, createServer, Socket } from "node:net";
import { setImmediate } from "node:timers/promises";
import { afterEach, describe, expect, it, vi } from "vitest";
import { ConnectionPlaces, clientOf } from "./connection-places.ts";

const open: { destroy(): unknown }[] = [];
afterEach(() => {
  for (const one of open.splice(0)) one.destroy();
});

async function listenerOf(most: number) {
  const sockets: Socket[] = [];
  const server = createServer((socket) => {
    sockets.push(socket);
    socket.on("error", () => {});
    if (!socket.destroyed) socket.write("welcome");
    socket.pipe(socket);
  });
  let refused = 0;
  /** idle connections that have been answered */
  const idle: Socket[] = [];
  const places = new ConnectionPlaces(server, most, {
    spareFor: () => 16,
    closeIdle: (client) => {
      const closed = idle.splice(0).filter(({ remoteAddress }) => remoteAddress === client);
      for (const socket of closed) socket.destroy();
      return closed.length;
    },
    onRefused: () => refused++,
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  open.push({ destroy: () => server.close() });
  const { port } = server.address() as AddressInfo;
  const connectFrom = async (localAddress: string): Promise<Socket> => {
    const socket = connectTo(port, localAddress);
    await Promise.race([once(socket, "data"), once(socket, "close")]);
    return socket;
  };
  const openOnes = (sockets: readonly Socket[]): boolean[] => sockets.map((socket) => !socket.closed);
  return { places, refused: () => refused, idle, sockets, connectFrom, openOnes };
}

function connectTo(port: number, localAddress: string): Socket {
  const socket = connect({ port, host: "127.0.0.1", localAddress });
  open.push(socket);
  socket.on("error", () => {});
  return socket.resume();
}

async function untilClosed(sockets: readonly Socket[]): Promise<void> {
  await Promise.all(sockets.filter(({ closed }) => !closed).map((socket) => once(socket, "close")));
}

/** Sends something and waits until it has been read there. */
async function say(socket: Socket): Promise<void> {
  if (socket.closed) return;
  socket.write("half a request");
  await once(socket, "data");
}

describe("the places of a listener", () => {
  it("all go to one client while nobody else wants one, and no more than there are", async () => {
    const { places, sockets, connectFrom, openOnes, refused } = await listenerOf(3);
    const greedy = [];
    for (let index = 0; index < 5; index++) {
      const socket = await connectFrom("127.0.0.2");
      greedy.push(socket);
      await say(socket);
      places.asked(sockets.at(-1)!);
    }
    expect(openOnes(greedy)).toEqual([true, true, true, false, false]);
    expect(refused()).toBe(2);
  });

  it("go from the client that has most to one that has none", async () => {
    const { connectFrom, openOnes } = await listenerOf(4);
    const greedy = [];
    for (let index = 0; index < 4; index++) greedy.push(await connectFrom("127.0.0.2"));
    const closed = once(greedy[0]!, "close");
    const honest = await connectFrom("127.0.0.1");
    await closed;
    expect(openOnes([...greedy, honest])).toEqual([false, true, true, true, true]);
  });

  it("go from one that has sent nothing first", async () => {
    const { connectFrom, openOnes } = await listenerOf(3);
    const greedy = [];
    for (let index = 0; index < 3; index++) greedy.push(await connectFrom("127.0.0.2"));
    greedy[0]!.write("a question");
    await once(greedy[0]!, "data");
    const closed = once(greedy[1]!, "close");
    const other = await connectFrom("127.0.0.3");
    await closed;
    expect(openOnes([...greedy, other])).toEqual([true, false, true, true]);
  });

  it("of one client go from its oldest silent connection to its newest", async () => {
    const { connectFrom, openOnes, refused } = await listenerOf(3);
    const first = await connectFrom("127.0.0.2");
    await say(first);
    const sockets = [first];
    for (let index = 0; index < 4; index++) sockets.push(await connectFrom("127.0.0.2"));
    await untilClosed(sockets.slice(1, 3));
    expect(openOnes(sockets)).toEqual([true, false, false, true, true]);
    expect(refused()).toBe(0);
  });

  it("do not go from one that was accepted in the same turn or the one before: what it has sent is not read yet", async () => {
    const server = createServer();
    new ConnectionPlaces(server, 2, { spareFor: () => 16, closeIdle: () => 0, onRefused: () => {} });
    const burst: Socket[] = [];
    const accept = (): void => {
      const socket = new Socket();
      burst.push(socket);
      server.emit("connection", socket);
    };
    const destroyed = (): boolean[] => burst.map((socket) => socket.destroyed);
    for (let count = 0; count < 3; count++) accept();
    expect(destroyed()).toEqual([false, false, true]);
    await setImmediate();
    accept();
    expect(destroyed()).toEqual([false, false, true, true]);
    await setImmediate();
    accept();
    expect(destroyed()).toEqual([true, false, true, true, false]);
  });

  it("go from one whose first request has not arrived after half a second; from none that has asked", async () => {
    const { places, sockets, connectFrom, openOnes } = await listenerOf(2);
    const now = vi.spyOn(performance, "now").mockReturnValue(1000);
    try {
      const asked = await connectFrom("127.0.0.2");
      await say(asked);
      places.asked(sockets[0]!);
      const half = await connectFrom("127.0.0.2");
      await say(half);
      expect(openOnes([asked, half, await connectFrom("127.0.0.2")])).toEqual([true, true, false]);
      now.mockReturnValue(1500);
      const newcomer = await connectFrom("127.0.0.2");
      await untilClosed([half]);
      expect(openOnes([asked, half, newcomer])).toEqual([true, false, true]);
    } finally {
      now.mockRestore();
    }
  });

  it("go from those of the same client that wait for its next request, not from those of others", async () => {
    const { places, idle, sockets, connectFrom, openOnes, refused } = await listenerOf(4);
    const first = [];
    for (const client of ["127.0.0.2", "127.0.0.2", "127.0.0.3", "127.0.0.3"]) first.push(await connectFrom(client));
    for (const socket of first) await say(socket);
    for (const socket of sockets) places.asked(socket);
    idle.push(sockets[2]!);
    expect(openOnes([...first, await connectFrom("127.0.0.2")])).toEqual([true, true, true, true, false]);
    idle.push(sockets[1]!);
    const newcomer = await connectFrom("127.0.0.2");
    await untilClosed([first[1]!]);
    expect(openOnes([...first, newcomer])).toEqual([true, false, true, true, true]);
    expect(refused()).toBe(1);
  });

  it("can be fewer from now on; what is open stays open", async () => {
    const { places, sockets, connectFrom, openOnes } = await listenerOf(3);
    const first = [await connectFrom("127.0.0.2"), await connectFrom("127.0.0.2")];
    for (const socket of first) await say(socket);
    for (const socket of sockets) places.asked(socket);
    places.limit(1);
    expect(openOnes([...first, await connectFrom("127.0.0.2")])).toEqual([true, true, false]);
  });

  it("stay with clients that have the same number, so that they do not push each other out without end", async () => {
    const { connectFrom, openOnes, refused } = await listenerOf(2);
    const first = await connectFrom("127.0.0.2");
    const second = await connectFrom("127.0.0.3");
    const third = await connectFrom("127.0.0.4");
    expect(openOnes([first, second, third])).toEqual([true, true, false]);
    expect(refused()).toBe(1);
  });
});

describe("a client", () => {
  it.each([
    ["10.1.2.3", "10.1.2.3"],
    ["::ffff:10.1.2.3", "10.1.2.3"],
    ["2001:db8:1:2:3:4:5:6", "2001:db8:1:2"],
    ["2001:db8:1:2::6", "2001:db8:1:2"],
    ["2001:db8::1", "2001:db8:0:0"],
    ["::1", "0:0:0:0"],
    ["fe80::1%eth0", "fe80:0:0:0"],
  ])("with the address %s is %s", (address, client) => {
    expect(clientOf(address)).toBe(client);
  });
});
