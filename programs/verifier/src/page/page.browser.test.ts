import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { brotliCompressSync } from "node:zlib";
import { type Browser, chromium, type Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { PAGE_FOLDER, servePage } from "../index.ts";
import { type SampleBlock, sampleBlock } from "../testing/sample-block.ts";

/** `RNODE_SCREENSHOTS=FOLDER` keeps pictures. */
const PICTURES = process.env.RNODE_SCREENSHOTS;
const CHROMIUM = ["chromium", "chromium-browser", "google-chrome-stable", "google-chrome"]
  .map((name) => spawnSync("which", [name], { encoding: "utf8" }).stdout?.trim())
  .find(Boolean);
const isBuilt = existsSync(join(PAGE_FOLDER, "index.html"));
if (CHROMIUM === undefined) console.log("not run: the verifier in a browser (there is no Chromium)");
else if (!isBuilt) console.log("not run: the verifier in a browser (npm run build makes its page)");

/** brotli's version byte, then the stream */
const brotli = (bytes: Uint8Array): Uint8Array => Uint8Array.of(1, ...brotliCompressSync(bytes));

describe.skipIf(CHROMIUM === undefined || !isBuilt)("the page", () => {
  let browser: Browser;
  let server: Awaited<ReturnType<typeof servePage>>;
  let sample: SampleBlock;
  beforeAll(async () => {
    sample = await sampleBlock(brotli);
    server = await servePage();
    browser = await chromium.launch({ executablePath: CHROMIUM!, args: ["--no-sandbox", "--disable-gpu"] });
  });
  afterAll(async () => {
    await browser?.close();
    await server?.close();
  });

  async function open(colorScheme: "light" | "dark" = "light"): Promise<{ page: Page; faults: string[] }> {
    const page = await browser.newPage({ colorScheme, viewport: { width: 1280, height: 1000 } });
    const faults: string[] = [];
    page.on("pageerror", (error) => faults.push(error.message));
    page.on("console", (message) => {
      if (message.type() === "error") faults.push(message.text());
    });
    await page.goto(server.url);
    return { page, faults };
  }
  const fill = async (
    page: Page,
    changes: Partial<Record<"witness" | "origin" | "data" | "rollup" | "hash", string>>,
  ): Promise<void> => {
    const fields = {
      witness: /or a file of rengine/,
      origin: /or the L1 block and its receipts/,
      data: /Batcher transactions/,
      rollup: /Network, or rollup/,
      hash: /Expected hash/,
    };
    for (const [name, text] of Object.entries(changes))
      await page
        .getByLabel(fields[name as keyof typeof fields])
        .first()
        .fill(text);
  };
  const verify = (page: Page) => page.getByRole("button", { name: "Verify" }).click();
  const picture = async (page: Page, name: string): Promise<void> => {
    if (PICTURES === undefined) return;
    mkdirSync(PICTURES, { recursive: true });
    await page.screenshot({ path: join(PICTURES, `${name}.png`), fullPage: true });
  };

  it.each(["light", "dark"] as const)("derives, executes and hashes a block in a tab, %s", async (scheme) => {
    const { page, faults } = await open(scheme);
    await picture(page, `verifier-empty-${scheme}`);
    await fill(page, { witness: JSON.stringify(sample.finished), data: sample.data, rollup: sample.rollup, hash: sample.hash });
    await fill(page, { origin: JSON.stringify(sample.origin) });
    await verify(page);
    await page.getByText("Block 1 has the expected hash").waitFor();
    expect(await page.locator(".steps > li strong").allInnerTexts()).toEqual([
      "Block and witness are decoded",
      "Every rule of the block holds",
      "The L1 block and its receipts fit its hash",
      "1 deposit",
      "The block has the deposits of its L1 origin",
      "1 frame",
      "1 channel",
      "1 batch",
      "The block has the batch's transactions",
      "The hash is the expected one",
    ]);
    expect(await page.locator(".steps").textContent()).toContain("brotli");
    await picture(page, `verifier-good-${scheme}`);
    expect(faults).toEqual([]);
    await page.close();
  });

  it("says what does not fit, and what cannot be read", async () => {
    const { page, faults } = await open();
    await fill(page, { witness: JSON.stringify({ ...sample.finished, witness: { ...sample.finished.witness, state: [] } }) });
    await verify(page);
    await page.getByText("Block 1 does not fit").waitFor();
    await page.getByText("The block is not valid").waitFor();
    await picture(page, "verifier-bad-light");
    await page.getByRole("button", { name: "Clear" }).click();
    await fill(page, { witness: "{" });
    await verify(page);
    await page.getByText(/is not JSON/).waitFor();
    expect(faults).toEqual([]);
    await page.close();
  });

  it("keeps a long text that comes in several events, and shortens it when the field is left", async () => {
    const { page, faults } = await open();
    const text = JSON.stringify({ ...sample.finished, note: "x".repeat(600_000) });
    const field = page.getByLabel(/or a file of rengine/).first();
    await field.focus();
    for (let at = 0; at < text.length; at += 250_000) await page.keyboard.insertText(text.slice(at, at + 250_000));
    expect(await field.inputValue()).toHaveLength(text.length);
    await page.getByLabel(/Expected hash/).fill(sample.hash);
    expect(await field.inputValue()).toMatch(/…\n\(0\.6 MiB\)$/);
    await verify(page);
    await page.getByText("Block 1 has the expected hash").waitFor();
    expect(faults).toEqual([]);
    await page.close();
  });

  it.each([
    // executed by the rules of another chain
    { of: "of a known network, with its rules", chainId: "0xa", loaded: '"chain":"op-mainnet"', seen: "Block 1 does not fit" },
    {
      of: "of a chain that nobody knows, with the node's rules",
      chainId: "0x385",
      loaded: '"chain":{',
      seen: "not those of a known network",
    },
  ])("loads a block from a node $of", async ({ chainId, loaded, seen }) => {
    const answers: Record<string, unknown> = {
      eth_chainId: chainId,
      debug_chainConfig: sample.finished.chain,
      eth_getBlockByNumber: { hash: sample.hash },
      debug_getRawBlock: sample.finished.block,
      debug_executionWitnessByBlockHash: sample.finished.witness,
    };
    const node = createServer((request, response) => {
      response.setHeader("access-control-allow-origin", "*");
      response.setHeader("access-control-allow-headers", "content-type");
      let body = "";
      request.on("data", (chunk: Buffer) => {
        body += chunk.toString();
      });
      request.on("end", () => {
        if (request.method === "OPTIONS") return response.end();
        const { id, method, params } = JSON.parse(body) as { id: number; method: string; params: readonly unknown[] };
        const result = params[0] === "0x4d" ? null : answers[method];
        return response.end(JSON.stringify({ jsonrpc: "2.0", id, result }));
      });
    });
    await new Promise<void>((resolve) => node.listen(0, "127.0.0.1", resolve));
    try {
      const { page } = await open();
      await page.getByLabel("Node", { exact: true }).fill("http://127.0.0.1:9");
      await page.getByRole("button", { name: "Load", exact: true }).click();
      await page.getByText("http://127.0.0.1:9 does not answer").waitFor();
      const url = `http://127.0.0.1:${(node.address() as AddressInfo).port}`;
      await page.getByLabel("Node", { exact: true }).fill(url);
      await page.getByLabel("Block", { exact: true }).first().fill("77");
      await page.getByRole("button", { name: "Load", exact: true }).click();
      await page.getByText(`${url}: the node has no block 0x4d`, { exact: true }).waitFor();
      await page.getByLabel("Block", { exact: true }).first().fill("latest");
      await page.getByRole("button", { name: "Load", exact: true }).click();
      await expect
        .poll(() =>
          page
            .getByLabel(/or a file of rengine/)
            .first()
            .inputValue(),
        )
        .toContain(loaded);
      expect(await page.getByText("does not answer").count()).toBe(0);
      await verify(page);
      await page.getByText(seen).waitFor();
      await page.getByText(chainId === "0xa" ? "The block is not valid" : "Every rule of the block holds").waitFor();
      await page.close();
    } finally {
      node.closeAllConnections();
      node.close();
    }
  });
});
