import { request } from "node:http";
import { gunzipSync } from "node:zlib";
import { describe, expect, it, onTestFinished } from "vitest";
import { startPprofServer } from "./pprof-server.ts";
import { ProfileBuilder } from "./profile-format.ts";
import { Profiler } from "./profiler.ts";

/** The fields of a protobuf message: numbers, or bytes of fields with a length. */
function fieldsOf(bytes: Uint8Array): [field: number, value: number | Uint8Array][] {
  const fields: [number, number | Uint8Array][] = [];
  let at = 0;
  const varint = (): number => {
    let value = 0;
    for (let factor = 1; ; factor *= 128) {
      const byte = bytes[at++]!;
      value += (byte & 127) * factor;
      if (byte < 128) return value;
    }
  };
  while (at < bytes.length) {
    const tag = varint();
    if (tag % 8 === 0) fields.push([tag >> 3, varint()]);
    else {
      const length = varint();
      fields.push([tag >> 3, bytes.subarray(at, at + length)]);
      at += length;
    }
  }
  return fields;
}

const bytesOf = (fields: ReturnType<typeof fieldsOf>, field: number): Uint8Array[] =>
  fields.filter(([number]) => number === field).map(([, value]) => value as Uint8Array);
const numberOf = (fields: ReturnType<typeof fieldsOf>, field: number): number =>
  (fields.find(([number]) => number === field)?.[1] as number | undefined) ?? 0;
const numbersIn = (packed: Uint8Array): number[] => {
  // each number as the only field of a message
  const numbers: number[] = [];
  for (let at = 0; at < packed.length; ) {
    let end = at;
    while (packed[end]! > 127) end++;
    numbers.push(numberOf(fieldsOf(Uint8Array.from([8, ...packed.subarray(at, end + 1)])), 1));
    at = end + 1;
  }
  return numbers;
};

/** A profile as text: types, and a line per sample with the names and lines of its stack. */
function readProfile(file: Uint8Array): { types: string[]; samples: Record<string, number[]> } {
  const profile = fieldsOf(gunzipSync(file));
  const strings = bytesOf(profile, 6).map((bytes) => Buffer.from(bytes).toString());
  const functions = new Map(
    bytesOf(profile, 5)
      .map(fieldsOf)
      .map((fields) => [numberOf(fields, 1), strings[numberOf(fields, 2)]!] as const),
  );
  const locations = new Map(
    bytesOf(profile, 4).map((bytes) => {
      const location = fieldsOf(bytes);
      const line = fieldsOf(bytesOf(location, 4)[0]!);
      return [numberOf(location, 1), `${functions.get(numberOf(line, 1))}:${numberOf(line, 2)}`] as const;
    }),
  );
  const samples = bytesOf(profile, 2).map((bytes) => {
    const sample = fieldsOf(bytes);
    const stack = numbersIn(bytesOf(sample, 1)[0]!).map((id) => locations.get(id));
    return [stack.join(" < "), numbersIn(bytesOf(sample, 2)[0]!)] as const;
  });
  const types = bytesOf(profile, 1).map((bytes) => {
    const type = fieldsOf(bytes);
    return `${strings[numberOf(type, 1)]}/${strings[numberOf(type, 2)]}`;
  });
  return { types, samples: Object.fromEntries(samples) };
}

const sum = (samples: Record<string, number[]>, index = 0): number =>
  Object.values(samples).reduce((total, values) => total + values[index]!, 0);

function spin(forMs: number): number {
  let turns = 0;
  for (const endMs = performance.now() + forMs; performance.now() < endMs; ) turns++;
  return turns;
}

const profiler = async (): Promise<Profiler> => {
  const made = new Profiler(() => Date.now());
  await made.ready();
  onTestFinished(() => made.close());
  return made;
};

describe("a profile", () => {
  it("adds up samples with the same stack, and keeps names, lines and large numbers", () => {
    const type = { type: "space", unit: "bytes" };
    const builder = new ProfileBuilder({ sampleTypes: [type], period: 1, periodType: type });
    const inner = { functionName: "inner", file: "/a.js", startLine: 3, line: 5 };
    const outer = { functionName: "outer", file: "/a.js", startLine: 300, line: 301 };
    builder.add([inner, outer], [2 ** 45]);
    builder.add([inner, outer], [300]);
    builder.add([outer], [1]);
    expect(readProfile(builder.encode(1000, 5))).toEqual({
      types: ["space/bytes"],
      samples: { "inner:5 < outer:301": [2 ** 45 + 300], "outer:301": [1] },
    });
  });

  it("of the processor names the function that was busy", async () => {
    const recording = await (await profiler()).cpu();
    spin(300);
    const { types, samples } = readProfile(await recording.stop());
    expect(types).toEqual(["samples/count", "cpu/nanoseconds"]);
    const spinning = Object.fromEntries(Object.entries(samples).filter(([stack]) => /\bspin:\d+ </.test(stack)));
    expect(sum(spinning)).toBeGreaterThan(0);
    expect(sum(spinning, 1)).toBeGreaterThan(50_000_000);
  });

  it("of memory tells what is in use from what was allocated, and one of allocations is taken at a time", async () => {
    const taking = await profiler();
    const kept: number[][] = Array.from({ length: 200 }, () => new Array(8_000).fill(1.5));
    expect(sum(readProfile(await taking.heap(true)).samples)).toBeGreaterThan(2_000_000);
    const recording = await taking.allocs();
    await expect(taking.allocs()).rejects.toThrow("being recorded");
    await expect(taking.heap()).rejects.toThrow("being recorded");
    for (let turn = 0; turn < 200; turn++) kept[0] = new Array(8_000).fill(turn + 0.5);
    const { types, samples } = readProfile(await recording.stop());
    expect(types).toEqual(["alloc_space/bytes"]);
    expect(sum(samples)).toBeGreaterThan(2_000_000);
    expect(kept).toHaveLength(200);
    expect(readProfile(await taking.heap()).types).toEqual(["inuse_space/bytes"]);
  });
});

describe("the profile server", () => {
  it("answers where Go's tools ask, and says why there is no such profile", async () => {
    const server = await startPprofServer(await profiler(), { addr: "127.0.0.1", port: 0 });
    onTestFinished(() => server.close());
    const get = (path: string): Promise<Response> => fetch(`http://127.0.0.1:${server.port}${path}`);
    expect(await (await get("/debug/pprof/")).text()).toMatch(/heap +memory in use/);
    /** Asks until the pause after the operation before is over. */
    const taken = async (name: string): Promise<Uint8Array> => {
      for (;;) {
        const response = await get(`/debug/pprof/${name}`);
        if (response.status === 200) return new Uint8Array(await response.arrayBuffer());
        expect([response.status, await response.text()]).toEqual([503, expect.stringContaining("try again")]);
        await new Promise((resolve) => setTimeout(resolve, 1000 * Number(response.headers.get("retry-after"))));
      }
    };
    for (const [name, types] of [
      ["profile?seconds=0.1", ["samples/count", "cpu/nanoseconds"]],
      ["goroutine", ["goroutine/count"]],
      ["heap", ["inuse_space/bytes"]],
    ] as const) {
      expect(readProfile(await taken(name)).types).toEqual(types);
    }
    for (const [path, status, text] of [
      ["/debug/pprof/mutex", 501, "JavaScript has no mutexes"],
      ["/debug/pprof/cmdline", 501, "arguments may be secret"],
      ["/debug/pprof/profile?seconds=-1", 400, "at most 600"],
      ["/debug/pprof/other", 404, "unknown profile"],
      ["/other", 404, "GET /debug/pprof/"],
    ] as const) {
      const response = await get(path);
      expect([response.status, await response.text()]).toEqual([status, expect.stringContaining(text)]);
    }
  });

  it("answers the names of --pprof.vhosts only, and no page of another origin", async () => {
    const server = await startPprofServer(await profiler(), { addr: "127.0.0.1", port: 0, vhosts: ["node.example"] });
    onTestFinished(() => server.close());
    const get = (headers: Record<string, string>): Promise<readonly [number, string]> =>
      new Promise((resolve, reject) => {
        request({ host: "127.0.0.1", port: server.port, path: "/debug/pprof/", headers, agent: false }, (response) => {
          let text = "";
          response.on("data", (part) => (text += part));
          response.on("end", () => resolve([response.statusCode ?? 0, text]));
        })
          .on("error", reject)
          .end();
      });
    expect(await get({ host: "evil.example" })).toEqual([403, expect.stringContaining("--pprof.vhosts")]);
    expect(await get({ host: "127.0.0.1", origin: "http://evil.example" })).toEqual([403, "origin not allowed\n"]);
    expect(await get({ host: "node.example" })).toEqual([200, expect.stringContaining("profile")]);
  });

  const OPERATIONS = ["heap?gc=1", "heap", "goroutine", "profile?seconds=0.2", "allocs?seconds=0.2"] as const;
  const pairs = OPERATIONS.flatMap((first, at) =>
    OPERATIONS.map((second) => ({ first, second, tags: second === OPERATIONS[(at + 1) % OPERATIONS.length] ? [] : ["long"] })),
  );
  for (const { first, second, tags } of pairs)
    it(`refuses, during ${first} and right after it, ${second}`, { tags, timeout: 60_000 }, async () => {
      const server = await startPprofServer(await profiler(), { addr: "127.0.0.1", port: 0 });
      onTestFinished(() => server.close());
      const get = (name: string): Promise<Response> => fetch(`http://127.0.0.1:${server.port}/debug/pprof/${name}`);
      const together = await Promise.all([get(first), get(second)]);
      expect(together.map(({ status }) => status).sort((a, b) => a - b)).toEqual([200, 503]);
      const after = await get(second);
      expect([after.status, Number(after.headers.get("retry-after")) > 0]).toEqual([503, true]);
    });

  it("leaves a program most of its time, however often one client asks it to collect garbage", async () => {
    const server = await startPprofServer(await profiler(), { addr: "127.0.0.1", port: 0 });
    onTestFinished(() => server.close());
    const ask = async () => (await fetch(`http://127.0.0.1:${server.port}/debug/pprof/heap?gc=1`)).status;
    expect(await ask()).toBe(200);
    // Within the pause of a second.
    expect(await Promise.all(Array.from({ length: 12 }, ask))).toEqual(Array.from({ length: 12 }, () => 503));
  });
});
