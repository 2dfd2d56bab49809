import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeEach, expect, it } from "vitest";
import { startDevTestClient } from "../testing/dev-client.ts";

const NOBODY = "0x00000000000000000000000000000000000b0d1e";
let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "rengine-dev-kept-"));
});

it("a chain with --datadir goes on where it was, with what was set by hand since its last block", async () => {
  const first = await startDevTestClient(`--datadir=${folder}`, "--dev.chain-id=4242", "--dev.slot-time=2");
  const [from] = await first.rpc.call<string[]>("eth_accounts", []);
  const hash = await first.rpc.call<string>("eth_sendTransaction", [{ from, to: NOBODY, value: "0x5" }]);
  await first.rpc.call("anvil_setBalance", [NOBODY, "0x77"]);
  const head = await first.rpc.call<{ hash: string }>("eth_getBlockByNumber", ["latest", false]);
  await first.close();

  const second = await startDevTestClient(`--datadir=${folder}`);
  try {
    expect(await second.rpc.call("eth_getBlockByNumber", ["latest", false])).toMatchObject({ hash: head.hash });
    expect(await second.rpc.call("eth_chainId", [])).toBe("0x1092");
    expect(await second.rpc.call("eth_getBalance", [NOBODY, "latest"])).toBe("0x77");
    expect(await second.rpc.call("eth_getTransactionReceipt", [hash])).toMatchObject({ status: "0x1" });
    await second.rpc.call("evm_mine", []);
    expect(await second.rpc.call("eth_getBalance", [NOBODY, "0x2"])).toBe("0x77");
    expect(await second.rpc.call("dev_status", [])).toMatchObject({ slotSec: 2 });
  } finally {
    await second.close();
  }
  await expect(startDevTestClient(`--datadir=${folder}`, "--dev.slot-time=3")).rejects.toThrow(
    "--dev.slot-time 3: the chain in this --datadir has slots of 2 s, and keeps them",
  );
  await expect(startDevTestClient(`--datadir=${folder}`, "--dev.chain-id=5")).rejects.toThrow(
    `--dev.chain-id 5: the genesis in ${join(folder, "genesis.json")} says 4242; leave the option out, or give another --datadir`,
  );
  await (await startDevTestClient(`--datadir=${folder}`, "--dev.chain-id=4242")).close();
});
