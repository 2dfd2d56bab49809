import { createHash, randomBytes } from "node:crypto";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import type { ServerResponse } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type FetchOptions, fetchFile } from "./fetch-file.ts";
import { type FlakyOptions, type FlakyServer, startFlakyServer } from "./testing/flaky-server.ts";

const FILE = new Uint8Array(randomBytes(50_000));
const sha = (bytes: Uint8Array): string => createHash("sha256").update(bytes).digest("hex");
const check = (bytes: Uint8Array): string | undefined => (sha(bytes) === sha(FILE) ? undefined : `its hash is ${sha(bytes)}`);
const QUICK = { maxBytes: 100_000, firstWaitMs: 1, idleMs: 200, maxFailures: 3, check } satisfies FetchOptions;

let folder: string;
let path: string;
const servers: FlakyServer[] = [];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "rnode-fetch-"));
  path = join(folder, "deep", "file");
});
afterEach(async () => {
  for (const server of servers.splice(0)) await server.close();
});
const serve = async (options: FlakyOptions = {}, file: Uint8Array = FILE): Promise<FlakyServer> => {
  const server = await startFlakyServer(() => file, options);
  servers.push(server);
  return server;
};
const expectWhole = (): void => {
  expect(sha(readFileSync(path))).toBe(sha(FILE));
  expect(readdirSync(join(folder, "deep"))).toEqual(["file"]); // nothing else is left
};
const answering = (answer: (response: ServerResponse) => void) => (_: number, response: ServerResponse) => {
  answer(response);
  return true;
};

describe("a file", () => {
  it.each<[string, FlakyOptions]>([
    ["that comes at once", {}],
    ["whose connections break", { breaksAfter: (request) => 7000 + request * 900 }],
    [
      "from a server without Range",
      { knowsRanges: false, breaksAfter: (request) => (request < 2 ? 9000 * (request + 1) : undefined) },
    ],
    [
      "that is replaced during the download",
      { etag: (request) => (request < 1 ? "a" : "b"), breaksAfter: (request) => (request === 0 ? 9000 : undefined) },
    ],
  ])("%s is whole", async (_, options) => {
    const { url } = await serve(options);
    expect(sha(await fetchFile(url, path, { ...QUICK, maxFailures: 20 }))).toBe(sha(FILE));
    expectWhole();
  });

  it("behind a redirect is whole", async () => {
    const { url } = await serve();
    const moved = await serve({
      answer: answering((response) => {
        response.writeHead(302, { location: url }).end();
      }),
    });
    await fetchFile(moved.url, path, QUICK);
    expectWhole();
  });

  it("is whole if another process finishes meanwhile and removes the partial file", async () => {
    mkdirSync(join(folder, "deep"));
    writeFileSync(`${path}.part`, FILE.subarray(0, 20_000));
    const { url, ranges } = await serve({
      answer: () => {
        rmSync(`${path}.part`, { force: true });
        return false;
      },
    });
    expect(sha(await fetchFile(url, path, QUICK))).toBe(sha(FILE));
    expect(ranges).toEqual(["bytes=20000-"]);
    expectWhole();
  });

  it("is resumed by a later process at the byte where a killed one was", async () => {
    const broken = await serve({ breaksAfter: (request) => (request === 0 ? 30_000 : 0) });
    await expect(fetchFile(broken.url, path, QUICK)).rejects.toThrow(/4 times in a row/);
    const left = readFileSync(`${path}.part`).length;
    expect(left).toBeGreaterThan(0);
    expect(existsSync(path)).toBe(false);
    const server = await serve();
    await fetchFile(server.url, path, QUICK);
    expect(server.ranges).toEqual([`bytes=${left}-`]);
    expectWhole();
  });

  it.each<[string, Uint8Array]>([
    ["the beginning of another file", randomBytes(20_000)],
    ["more than the file has", randomBytes(60_000)],
    ["more than is allowed", randomBytes(200_000)],
    ["the whole file with a flipped bit", Buffer.from(FILE.map((byte, at) => (at === 123 ? byte ^ 1 : byte)))],
  ])("is whole where a killed process left %s", async (_, left) => {
    const { url } = await serve();
    await fetchFile(url, path, QUICK);
    rmSync(path);
    writeFileSync(`${path}.part`, left);
    await fetchFile(url, path, QUICK);
    expectWhole();
  });

  it("is whole after a source without an end, also from a server that refuses ranges in its own way", async () => {
    const endless = await serve({ answer: answering((response) => void response.writeHead(200).write(randomBytes(150_000))) });
    await expect(fetchFile(endless.url, path, QUICK)).rejects.toMatchObject({ code: "download/too-large" });
    expect(existsSync(`${path}.part`)).toBe(false);
    writeFileSync(`${path}.part`, randomBytes(60_000));
    const refusing = await serve({
      answer: (request, response) => request === 0 && response.writeHead(400).end() !== undefined,
    });
    await fetchFile(refusing.url, path, QUICK);
    expectWhole();
  });

  it("is whole for several that fetch it to one place at once", async () => {
    const { url } = await serve({ breaksAfter: (request) => (request % 3 === 0 ? 11_000 : undefined) });
    await Promise.all(Array.from({ length: 6 }, () => fetchFile(url, path, { ...QUICK, maxFailures: 20 }).catch(() => undefined)));
    expect(sha(readFileSync(path))).toBe(sha(FILE));
  });

  it("stops when the signal says so, and keeps what it has", async () => {
    const { url } = await serve({ answer: answering((response) => response.writeHead(200).write(FILE.subarray(0, 5000))) });
    const ending = new AbortController();
    const fetching = fetchFile(url, path, {
      ...QUICK,
      idleMs: 60_000,
      signal: ending.signal,
      onProgress: () => ending.abort(new Error("the end")),
    });
    await expect(fetching).rejects.toThrow("the end");
    expect(readFileSync(`${path}.part`).length).toBe(5000);
  });
});

describe("a file that cannot be had fails with its reason", () => {
  const drip = (response: ServerResponse): void => {
    response.writeHead(200);
    const timer = setInterval(() => response.write("x"), 20);
    response.once("close", () => clearInterval(timer));
  };
  it.each<[string, FlakyOptions, string, RegExp]>([
    [
      "is not there",
      { answer: answering((response) => void response.writeHead(404).end()) },
      "download/not-found",
      /HTTP status 404/,
    ],
    ["is forbidden", { answer: answering((response) => void response.writeHead(403).end()) }, "download/failed", /HTTP status 403/],
    [
      "is redirected for ever",
      { answer: answering((response) => void response.writeHead(302, { location: "/" }).end()) },
      "download/failed",
      /redirect/,
    ],
    ["never begins", { answer: () => true }, "download/failed", /nothing came for 200 ms, 4 times in a row/],
    ["comes byte by byte", { answer: answering(drip) }, "download/failed", /less than 205 bytes came for 200 ms, 4 times in a row/],
    [
      "has no end",
      { answer: answering((response) => void response.writeHead(200).write(randomBytes(150_000))) },
      "download/too-large",
      /it has at least \d+ bytes, allowed are 100000/,
    ],
    [
      "says that it is huge",
      { answer: answering((response) => void response.writeHead(200, { "content-length": 1e12 }).write("x")) },
      "download/too-large",
      /it has 1000000000000 bytes/,
    ],
    ["is damaged", { alter: (bytes) => bytes.fill(1, 500, 510) }, "download/wrong-content", /its hash is/],
  ])("%s", async (_, options, code, words) => {
    const { url } = await serve(options);
    // Only an answer that stalls may run into the limit, also on a busy machine.
    const fetching = fetchFile(url, path, words.source.includes("came for") ? QUICK : { ...QUICK, idleMs: 10_000 });
    await expect(fetching).rejects.toMatchObject({ code, data: { url } });
    await expect(fetching).rejects.toThrow(words);
    expect(existsSync(path)).toBe(false);
  });
});
