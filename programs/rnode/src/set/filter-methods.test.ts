import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createRpcClient, createRpcServer } from "@rnode/jsonrpc";
import { silentLogger } from "@rnode/observe";
import { bytesToHex } from "@rnode/primitives";
import { encodeMessageAccess } from "@rnode/protocol";
import { expect, it, onTestFinished } from "vitest";
import { hashOf, SimSetChain } from "../testing/sim-set.ts";
import { AccessListFilter } from "./access-list-filter.ts";
import { CrossUnsafe } from "./cross-unsafe.ts";
import { filterMethods } from "./filter-methods.ts";
import { SetDatabase } from "./set-database.ts";
import { setRules } from "./set-rules.ts";

async function serve({ enableAdmin }: { readonly enableAdmin: boolean }) {
  const database = SetDatabase.open(mkdtempSync(join(tmpdir(), "filter-")), [901n], silentLogger);
  const chain = new SimSetChain(901n, { genesisSec: 100, blockTimeSec: 1, lagoonSec: 100 }, database);
  for (let number = 0; number < 5; number++) chain.say({ logs: 1, executes: [] }, { number: 1, hash: hashOf("l1") });
  const chains = [chain];
  const rules = setRules(chains, 40);
  const crossUnsafe = new CrossUnsafe({ chains, rules, database, startSec: 100 });
  await crossUnsafe.advance();
  const filter = new AccessListFilter({ chains, rules, database, crossUnsafe });
  const methods = filterMethods({ filter, database, chainIds: [901n], enableAdmin });
  const server = createRpcServer({ http: { host: "127.0.0.1", port: 0 }, methods, log: silentLogger });
  const { httpPort } = await server.listen();
  const rpc = createRpcClient({ url: `http://127.0.0.1:${httpPort}` });
  onTestFinished(async () => {
    await rpc.close();
    await server.close();
    await database.close();
  });
  const ask = (method: string, ...params: unknown[]): Promise<unknown> =>
    rpc.call(method, params).catch((error: { readonly code: number }) => error.code);
  return { chain, ask };
}

it("takes requests as op-service and op-reth write them", async () => {
  const { chain, ask } = await serve({ enableAdmin: false });
  const { block, checksums } = chain.messagesAt(2);
  const place = { chainId: 901n, blockNumber: 2n, timestamp: BigInt(block.timestamp), logIndex: 0 };
  const keys = encodeMessageAccess({ ...place, checksum: checksums[0]! }).map((key) => bytesToHex(key));
  const check = (executing: object, level = "cross-unsafe") => ask("interop_checkAccessList", keys, level, executing);
  expect(await check({ chainID: "901", timestamp: "0x68" })).toBe(null);
  expect(await check({ chainID: "0x385", timestamp: "0x68", timeout: "0x10" })).toBe(null);
  expect(await check({ chainID: "901", timestamp: "0x68", timeout: "0x30" })).toBe(-320600);
  expect(await check({ timestamp: "0x68" })).toBe(-320501);
  expect(await check({ chainID: "901", timestamp: "0x68" }, "cross-safe")).toBe(-32602);
  expect(await check({ chainID: "901" })).toBe(-32602);
  expect(await ask("interop_getBlockHashByNumber", "901", "latest")).toBe(chain.tip!.hash);
  expect(await ask("interop_getBlockHashByNumber", "0x385", "0x2")).toBe(block.hash);
  expect(await ask("interop_getBlockHashByNumber", "902", "latest")).toBe(-32000);
  expect(await ask("interop_getBlockHashByNumber", "901", "0x9")).toBe(-32000);
  expect(await ask("admin_getFailsafeEnabled")).toBe(false);
  expect(await ask("admin_setFailsafeEnabled", true)).toBe(-32601);
});

it("lets an operator turn the failsafe on and off", async () => {
  const { ask } = await serve({ enableAdmin: true });
  const check = () => ask("interop_checkAccessList", [], "unsafe", { chainID: "901", timestamp: "0x68" });
  expect(await ask("admin_setFailsafeEnabled", true)).toBe(null);
  expect([await ask("admin_getFailsafeEnabled"), await check()]).toEqual([true, -320602]);
  expect(await ask("admin_setFailsafeEnabled", false)).toBe(null);
  expect([await ask("admin_getFailsafeEnabled"), await check()]).toEqual([false, null]);
});
