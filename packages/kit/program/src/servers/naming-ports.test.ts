import { type AddressInfo, createServer } from "node:net";
import { describe, expect, it } from "vitest";
import { assertPortIsFree } from "./naming-ports.ts";

describe("a port that is needed later", () => {
  it("is refused by the option's name while another program has it, and free afterwards", async () => {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const { port } = server.address() as AddressInfo;
    const wanted = { host: "127.0.0.1", port };
    await expect(assertPortIsFree("rpc.port", wanted)).rejects.toThrow(
      `--rpc.port: port ${port} is in use on 127.0.0.1: stop the program that listens there, or choose another port`,
    );
    await expect(assertPortIsFree("rpc.port", { host: "192.0.2.1", port })).rejects.toThrow(
      "--rpc.addr: this machine has no address 192.0.2.1",
    );
    await expect(assertPortIsFree("p2p.listen.tcp", { host: "192.0.2.1", port })).rejects.toThrow(
      "--p2p.listen.ip: this machine has no address 192.0.2.1",
    );
    await new Promise((resolve) => server.close(resolve));
    await assertPortIsFree("rpc.port", wanted);
    await assertPortIsFree("rpc.port", wanted); // it is not kept
    await assertPortIsFree("rpc.port", { host: "127.0.0.1", port: 0 });
  });
});
