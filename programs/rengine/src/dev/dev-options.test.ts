import { bytesToHex } from "@rnode/primitives";
import { expect, it } from "vitest";
import { startDevTestClient } from "../testing/dev-client.ts";

interface Block {
  readonly number: string;
  readonly timestamp: string;
  readonly gasLimit: string;
  readonly baseFeePerGas: string;
}

/** One observable effect of each option, each on a separate chain. */
const EFFECTS: Readonly<
  Record<string, readonly [args: readonly string[], method: string, params: readonly unknown[], answer: unknown]>
> = {
  "dev.chain-id": [["--dev.chain-id=99"], "eth_chainId", [], "0x63"],
  "dev.accounts": [["--dev.accounts=3"], "eth_accounts", [], expect.objectContaining({ length: 3 })],
  "dev.mnemonic": [
    [
      "--dev.mnemonic=abandon abandon abandon abandon abandon abandon abandon abandon abandon abandon abandon about",
      "--dev.accounts=1",
    ],
    "eth_accounts",
    [],
    // the well-known first account of that phrase
    ["0x9858effd232b4033e47d90003d41ec34ecaeda94"],
  ],
  "dev.balance": [
    ["--dev.balance=7"],
    "eth_getBalance",
    ["0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266", "latest"],
    bytesToHex(Buffer.from("6124fee993bc0000", "hex")),
  ],
  "dev.gas-limit": [
    ["--dev.gas-limit=12345678"],
    "eth_getBlockByNumber",
    ["latest", false],
    expect.objectContaining({ gasLimit: "0xbc614e" }),
  ],
  "dev.base-fee": [
    ["--dev.base-fee=77"],
    "eth_getBlockByNumber",
    ["0x0", false],
    expect.objectContaining({ baseFeePerGas: "0x4d" }),
  ],
  "dev.timestamp": [
    ["--dev.timestamp=1700000000"],
    "eth_getBlockByNumber",
    ["0x0", false],
    expect.objectContaining({ timestamp: "0x6553f100" }),
  ],
  "dev.slot-time": [["--dev.slot-time=12"], "dev_status", [], expect.objectContaining({ slotSec: 12 })],
};

it.each(Object.entries(EFFECTS))("--%s", async (_, [args, method, params, answer]) => {
  const dev = await startDevTestClient(...args);
  try {
    const got = await dev.rpc.call<unknown>(method, [...params]);
    expect(
      typeof got === "string"
        ? got.toLowerCase()
        : Array.isArray(got)
          ? got.map((item) => (typeof item === "string" ? item.toLowerCase() : item))
          : got,
    ).toEqual(answer);
  } finally {
    await dev.close();
  }
});

it("--dev.no-mining makes no block with a transaction, --dev makes one", async () => {
  for (const [args, number] of [
    [[], "0x1"],
    [["--dev.no-mining"], "0x0"],
  ] as const) {
    const dev = await startDevTestClient(...args);
    try {
      const [from] = await dev.rpc.call<string[]>("eth_accounts", []);
      await dev.rpc.call("eth_sendTransaction", [{ from, to: from, value: "0x1" }]);
      expect(await dev.rpc.call("eth_blockNumber", [])).toBe(number);
    } finally {
      await dev.close();
    }
  }
});

it("--dev.slots-in-an-epoch says how far the safe and finalized blocks are behind", async () => {
  const dev = await startDevTestClient("--dev.slots-in-an-epoch=2", "--dev.no-mining");
  try {
    for (let i = 0; i < 6; i++) await dev.rpc.call("evm_mine", []);
    expect((await dev.rpc.call<Block>("eth_getBlockByNumber", ["safe", false])).number).toBe("0x4");
    expect((await dev.rpc.call<Block>("eth_getBlockByNumber", ["finalized", false])).number).toBe("0x2");
  } finally {
    await dev.close();
  }
});

it("--dev.block-time makes blocks without transactions", async () => {
  const dev = await startDevTestClient("--dev.block-time=1s");
  try {
    const first = Number(await dev.rpc.call<string>("eth_blockNumber", []));
    await expect.poll(async () => Number(await dev.rpc.call<string>("eth_blockNumber", []))).toBeGreaterThan(first + 1);
  } finally {
    await dev.close();
  }
});

it("--dev.blob-retention is what the beacon endpoint promises", async () => {
  const dev = await startDevTestClient("--dev.blob-retention=64");
  try {
    const { data } = (await (await fetch(`${dev.url}/eth/v1/config/spec`)).json()) as { data: Record<string, string> };
    expect(Number(data.MIN_EPOCHS_FOR_BLOB_SIDECARS_REQUESTS) * Number(data.SLOTS_PER_EPOCH)).toBe(64);
  } finally {
    await dev.close();
  }
});

it("warns of namespaces that are listed for nothing", async () => {
  for (const [args, warnings] of [
    [[], []],
    [["--http", "--profile=G"], []],
    [["--http", "--http.api=eth,trace"], ["--http.api has no effect with --dev: a development chain serves all namespaces"]],
    [
      ["--ws", "--ws.api=trace", "--profile=G"],
      [
        "--ws.api has no effect with --dev: a development chain serves all namespaces",
        "--ws.api: face G has no trace_ methods; --profile=R has",
      ],
    ],
  ] as const) {
    const dev = await startDevTestClient(...args);
    await dev.close();
    expect(dev.warnings).toEqual(warnings);
  }
});
