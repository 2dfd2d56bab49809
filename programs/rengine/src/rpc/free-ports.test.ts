import { type AddressInfo, createServer, type Server } from "node:net";
import { afterEach, expect, it } from "vitest";
import { requireFreePorts } from "./free-ports.ts";

const open: Server[] = [];
afterEach(async () => {
  for (const server of open.splice(0)) await new Promise((resolve) => server.close(resolve));
});

/** Time passes only while somebody waits. */
class WaitingClock {
  now = 0;
  readonly waits: number[] = [];
  onWait: () => Promise<unknown> = async () => {};
  unixMs = (): number => this.now;
  monotonicMs = (): number => this.now;
  sleep = async (ms: number): Promise<void> => {
    this.waits.push(ms);
    this.now += ms;
    await this.onWait();
  };
}

async function takenPort(): Promise<number> {
  const server = createServer();
  open.push(server);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return (server.address() as AddressInfo).port;
}

it("waits for a port that is in use, for three seconds", async () => {
  const clock = new WaitingClock();
  const port = await takenPort();
  await expect(requireFreePorts([{ option: "http.port", host: "127.0.0.1", port }], clock)).rejects.toThrow(
    `--http.port: port ${port} is in use on 127.0.0.1`,
  );
  expect(clock.now).toBe(3_000);
});

it("goes on once it is free", async () => {
  const clock = new WaitingClock();
  const port = await takenPort();
  clock.onWait = async () => {
    if (clock.waits.length === 2) await new Promise((resolve) => open.pop()!.close(resolve));
  };
  await requireFreePorts([{ option: "http.port", host: "127.0.0.1", port }], clock);
  expect(clock.waits).toHaveLength(2);
});

it("tells at once that an address is not of this machine", async () => {
  const clock = new WaitingClock();
  await expect(requireFreePorts([{ option: "authrpc.port", host: "192.0.2.1", port: 8551 }], clock)).rejects.toThrow(
    "--authrpc.addr: this machine has no address 192.0.2.1",
  );
  expect(clock.waits).toEqual([]);
});
