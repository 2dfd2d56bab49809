import { mkdtempSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { numberToHex, parseEther } from "viem";
import { afterAll, describe, expect, it } from "vitest";
import { devAccounts, devRoles } from "../accounts.ts";
import type { DevnetInfo } from "../files.ts";
import { DEFAULT_PARAMETERS } from "../parameters.ts";
import { inspectExternalL1, requireSameL1 } from "./external-l1.ts";
import { l1ChainConfig } from "./l1-chain-config.ts";
import { requireFunds } from "./l1-funds.ts";

const folder = mkdtempSync(join(tmpdir(), "devnet-l1-"));
const closes: (() => void)[] = [];
afterAll(() => {
  for (const close of closes) close();
});

type Answers = Readonly<Record<string, (...params: readonly never[]) => unknown>>;

/** Answers JSON-RPC, and GET with what `paths` has. */
async function serve(answers: Answers, paths: Readonly<Record<string, unknown>> = {}): Promise<string> {
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      if (request.method === "GET") {
        const found = paths[request.url!];
        response.writeHead(found === undefined ? 404 : 200).end(JSON.stringify(found));
        return;
      }
      const { id, method, params } = JSON.parse(Buffer.concat(chunks).toString()) as {
        id: number;
        method: string;
        params: never[];
      };
      const answer = answers[method];
      const body = answer === undefined ? { error: { code: -32601, message: "no such method" } } : { result: answer(...params) };
      response.end(JSON.stringify({ jsonrpc: "2.0", id, ...body }));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  closes.push(() => server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** Blocks every three seconds, up to block 20. */
const blockAt = (id: string): object => {
  const number = id === "latest" ? 20 : Number(id);
  const time = { number: numberToHex(number), hash: `0x${"ab".repeat(32)}`, timestamp: numberToHex(1_000_000 + 3 * number) };
  return { ...time, baseFeePerGas: "0x3b9aca00", blobGasUsed: "0x0" };
};
const chain = (id: number, more: Answers = {}): Answers => ({
  eth_chainId: () => numberToHex(id),
  eth_getBlockByNumber: blockAt,
  ...more,
});
const without = undefined;

describe("an L1 that somebody else runs", () => {
  it("says what the devnet needs to know of it", async () => {
    expect(await inspectExternalL1({ url: await serve(chain(5)), beacon: without })).toEqual({
      chainId: 5,
      blockTimeSec: 3,
      blobSchedule: undefined,
    });
    const params = { target: 14, max: 21, baseFeeUpdateFraction: 11_684_671 };
    const eth_config = () => ({ current: { activationTime: 0, blobSchedule: params }, next: null });
    const url = await serve(chain(5, { eth_config }));
    const { blobSchedule } = await inspectExternalL1({ url, beacon: without });
    expect(l1ChainConfig(DEFAULT_PARAMETERS, blobSchedule)).toMatchObject({ pragueTime: 0, blobSchedule: { prague: params } });
  });

  it.each<[string, () => Promise<{ readonly url: string; readonly beacon: string | undefined }>, RegExp]>([
    [
      "does not answer",
      async () => ({ url: "http://127.0.0.1:9", beacon: without }),
      /^--l1 http:\/\/127\.0\.0\.1:9 does not answer \(.*\): give the JSON-RPC endpoint of a running L1$/,
    ],
    ["is the main network", async () => ({ url: await serve(chain(1)), beacon: without }), /main network.*test network/],
    [
      "has no blobs",
      async () => {
        const eth_getBlockByNumber = (id: string) => ({ ...blockAt(id), blobGasUsed: undefined });
        return { url: await serve(chain(5, { eth_getBlockByNumber })), beacon: without };
      },
      /has not reached Cancun/,
    ],
    [
      "has a beacon node that is none",
      async () => ({ url: await serve(chain(5)), beacon: await serve({}) }),
      /^--l1-beacon http.* does not answer as a beacon node \(HTTP status 404\): .*leave it out/,
    ],
    [
      "has a beacon node of another chain",
      async () => ({
        url: await serve(chain(5)),
        beacon: await serve(
          {},
          { "/eth/v1/beacon/genesis": { data: {} }, "/eth/v1/config/spec": { data: { DEPOSIT_CHAIN_ID: "7" } } },
        ),
      }),
      /is a beacon node of chain 7, but --l1 http.* is chain 5/,
    ],
  ])("is refused if it %s", async (_, where, message) => {
    await expect(inspectExternalL1(await where())).rejects.toThrow(message);
  });

  it("must be the one that the chain lives on", async () => {
    const url = await serve(chain(5));
    const info = (l1ChainId: number, hash: string) =>
      ({ l1ChainId, genesis: { l1: { number: 7, hash } } }) as unknown as DevnetInfo;
    await requireSameL1({ url, beacon: without }, info(5, `0x${"ab".repeat(32)}`));
    await expect(requireSameL1({ url, beacon: without }, info(6, ""))).rejects.toThrow(
      "is chain 5, but this devnet's L1 is chain 6",
    );
    await expect(requireSameL1({ url, beacon: without }, info(5, "0xcd"))).rejects.toThrow("that L1 was started anew");
  });
});

describe("the accounts on an L1 that somebody else runs", () => {
  const roles = devRoles(devAccounts(5));
  const parameters = { ...DEFAULT_PARAMETERS, l1ChainId: 5 };
  const balances = (of: Readonly<Record<string, bigint>>) => ({
    eth_getBalance: (address: string) => numberToHex(of[address.toLowerCase()] ?? 0n),
  });
  const has = (wei: bigint) =>
    balances(Object.fromEntries([roles.owner, roles.batcher, roles.proposer].map(({ address }) => [address.toLowerCase(), wei])));

  it("must have enough, the proposer of games also for their bonds", async () => {
    const url = await serve(chain(5, has(parseEther("0.5"))));
    await requireFunds({ url, beacon: without }, roles, parameters, undefined);
    await expect(requireFunds({ url, beacon: without }, roles, { ...parameters, proofs: "games" }, undefined)).rejects.toThrow(
      new RegExp(
        `lack ether: proposer ${roles.proposer.address} has 0\\.5 of 1\\.03 ether, challenger .* has 0 of 0\\.03 ether; send it`,
      ),
    );
  });

  it("are named with what they lack", async () => {
    const url = await serve(chain(5, has(0n)));
    const refused = requireFunds({ url, beacon: without }, roles, parameters, undefined);
    await expect(refused).rejects.toThrow(`owner ${roles.owner.address} has 0 of 0.18 ether, batcher ${roles.batcher.address}`);
    await expect(refused).rejects.toThrow("--l1-funder-key-file");
  });

  it("are not funded from a file that has no key, or by an account that has nothing", async () => {
    const url = await serve(chain(5, has(0n)));
    const file = join(folder, "key");
    const fund = () => requireFunds({ url, beacon: without }, roles, parameters, file);
    await expect(fund()).rejects.toThrow(`--l1-funder-key-file ${file} cannot be read`);
    writeFileSync(file, "0x12");
    await expect(fund()).rejects.toThrow("has no private key in it");
    writeFileSync(file, "11".repeat(32));
    await expect(fund()).rejects.toThrow(/its account 0x19E7\w* cannot pay 0\.18 ether to owner/);
  });
});
