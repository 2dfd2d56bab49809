import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startTestClient, type TestClient } from "../testing/test-client.ts";

// Walks the table of docs/faces.md in which face R differs from op-reth on purpose.

const page = readFileSync(fileURLToPath(new URL("../../../../docs/faces.md", import.meta.url)), "utf8");
const section = page.slice(page.indexOf("## Where face R differs from op-reth on purpose"));

const rows = section
  .split("\n")
  .filter((line) => line.startsWith("| `"))
  .map((line) =>
    line
      .slice(1, -1)
      .split(/(?<!\\)\|/)
      .map((cell) => cell.trim()),
  )
  .map(([request = "", , here = ""]) => [request.slice(1, -1), here.slice(1, -1)] as const);

/** The JSON of the table as a matcher. */
function matcherOf(value: unknown): unknown {
  if (typeof value === "string" && value.startsWith("~")) return expect.stringMatching(new RegExp(value.slice(1)));
  if (Array.isArray(value)) return value.map(matcherOf);
  if (typeof value !== "object" || value === null) return value;
  return expect.objectContaining(Object.fromEntries(Object.entries(value).map(([key, each]) => [key, matcherOf(each)])));
}

describe("face R beside op-reth", () => {
  let node: TestClient;
  beforeAll(async () => {
    node = await startTestClient(
      ["--http.api=eth,net,web3,debug,trace,admin,txpool", "--max-peers=1", "--port=0", "--disable-discovery"],
      undefined,
      {
        alloc: { "0x00000000000000000000000000000000000000aa": { balance: "0x0", code: "0x60016000" } },
      },
    );
    await node.buildBlock();
  });
  afterAll(() => node.remove());

  it("has rows", () => {
    expect(rows.length).toBeGreaterThan(15);
  });

  it.each(rows)("%s", async (request, here) => {
    const [method = "", ...params] = request.split(" ");
    const answer: unknown = await node.rpc
      .call(method, JSON.parse(params.join(" ")) as never)
      .catch(({ code, message, data }: { code: number; message: string; data: unknown }) => ({ error: { code, message, data } }));
    expect(answer).toEqual(matcherOf(JSON.parse(here)));
  });
});
