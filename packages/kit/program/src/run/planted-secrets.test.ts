import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { freePort } from "../testing/free-port.ts";

const ROOT = join(import.meta.dirname, "../../../../..");
/** A private key, and its traces: parts of it in hex, its bytes in base64, or in the text of an array. */
const KEY = "5ec2e7".repeat(11).slice(0, 64);
const TOKEN = "plantedTokenOf40Characters000000000000000";
const TRACES = [
  "5ec2e75ec2e7",
  Buffer.from(KEY, "hex").toString("base64").slice(4, 28),
  "94,194,231",
  "94, 194, 231",
  "plantedToken",
];

/** Of each secret option, a value that is accepted, and one that is not. */
const VALUES = {
  "p2p.sequencer.key": { right: KEY, wrong: `${KEY}zz` },
  "private-key": { right: KEY, wrong: `${KEY}zz` },
  "l1.beacon-header": { right: `X-Key: ${TOKEN}`, wrong: TOKEN },
  "signer.header": { right: `x-key=${TOKEN}`, wrong: TOKEN },
  "etcd.password": { right: TOKEN, wrong: "" },
} as const;

interface Subject {
  readonly folder: string;
  readonly name: string;
  readonly secrets: readonly (keyof typeof VALUES)[];
  /** required options; URLs are of unreachable endpoints, with planted credentials and paths */
  readonly needs: (path: (name: string) => string) => readonly string[];
  /** additional options for the planted ones */
  readonly beside: Readonly<Record<string, readonly string[]>>;
}
const NOBODY = `http://user:${TOKEN}@127.0.0.1:1/v2/${TOKEN}`;
const SIGNER = [`--signer.endpoint=https://user:${TOKEN}@127.0.0.1:1/${TOKEN}`, `--signer.address=0x${"11".repeat(20)}`];
const SUBJECTS: readonly Subject[] = [
  {
    folder: "programs/rnode",
    name: "rnode",
    secrets: ["l1.beacon-header", "p2p.sequencer.key", "signer.header"],
    needs: (path) => [
      ...[`--l1=${NOBODY}`, `--l2=${NOBODY}`, `--l1.beacon=${NOBODY}`, "--network=op-sepolia", `--l2.jwt-secret=${path("jwt")}`],
      ...[`--p2p.priv.path=${path("identity")}`, "--p2p.peerstore.path=memory", "--p2p.no-discovery", "--p2p.listen.tcp=0"],
      ...["--rpc.port=0", "--rpc.addr=127.0.0.1", "--dashboard", "--dashboard.port=0", "--dashboard.addr=127.0.0.1"],
    ],
    beside: { "signer.header": SIGNER },
  },
  {
    folder: "programs/rbatcher",
    name: "rbatcher",
    secrets: ["private-key", "signer.header"],
    needs: () => [
      ...[`--l1-eth-rpc=${NOBODY}`, `--l2-eth-rpc=${NOBODY}`, `--rollup-rpc=${NOBODY}`, "--rpc.port=0", "--rpc.addr=127.0.0.1"],
      ...["--dashboard", "--dashboard.port=0", "--dashboard.addr=127.0.0.1"],
    ],
    beside: { "signer.header": SIGNER },
  },
  {
    folder: "programs/rproposer",
    name: "rproposer",
    secrets: ["private-key", "signer.header"],
    needs: () => [
      ...[`--l1-eth-rpc=${NOBODY}`, `--rollup-rpc=${NOBODY}`, "--rpc.port=0", "--rpc.addr=127.0.0.1"],
      ...["--dashboard", "--dashboard.port=0", "--dashboard.addr=127.0.0.1"],
    ],
    beside: { "signer.header": SIGNER },
  },
  {
    folder: "programs/rconductor",
    name: "rconductor",
    secrets: ["etcd.password"],
    needs: () => [
      // a URL of etcd with a user is refused, because passwords have a separate option
      ...["--etcd=http://127.0.0.1:1", `--rollup-rpc=${NOBODY}`, `--execution-rpc=${NOBODY}`, "--server-id=a", "--rpc.port=0"],
      ...["--rpc.addr=127.0.0.1", "--dashboard", "--dashboard.port=0", "--dashboard.addr=127.0.0.1"],
    ],
    beside: { "etcd.password": ["--etcd.username=someone"] },
  },
];

/** whose secrets `npm test` looks for */
const QUICK = "rbatcher";

for (const subject of SUBJECTS)
  describe(`planted secrets of ${subject.name}`, { tags: subject.name === QUICK ? [] : "long" }, () => expectNoSecrets(subject));

function expectNoSecrets({ folder, name, secrets: expected, needs, beside }: Subject): void {
  const home = mkdtempSync(join(tmpdir(), "planted-"));
  const path = (file: string): string => join(home, file);
  const program = join(ROOT, folder, "bin", `${name}.js`);
  let secrets: Subject["secrets"][number][];
  beforeAll(() => {
    const { status, stdout } = spawnSync(join(ROOT, "node_modules/.bin/tsc"), ["-b", join(ROOT, folder)], {
      encoding: "utf8",
    });
    if (status !== 0) throw new Error(`${folder} cannot be built:\n${stdout}`);
    writeFileSync(path("jwt"), KEY, { mode: 0o600 });
    writeFileSync(path("sequencer"), KEY, { mode: 0o600 });
    const help = said(["--help"]).text;
    secrets = [...help.matchAll(/--(\S+)-file\b[\s\S]*?File with the\s+value\s+of\s+--\1;/g)].map(
      ([, flag]) => flag as keyof typeof VALUES,
    );
  });

  function said(args: readonly string[], env: NodeJS.ProcessEnv = {}) {
    const { stdout, stderr, status } = spawnSync(process.execPath, [program, ...args], {
      encoding: "utf8",
      cwd: home,
      env: { PATH: process.env.PATH, ...env },
      timeout: 60_000,
    });
    return { status, text: stdout + stderr };
  }
  function run(args: readonly string[], env: NodeJS.ProcessEnv) {
    const child = spawn(process.execPath, [program, ...args], { cwd: home, env: { PATH: process.env.PATH, ...env } });
    let text = "";
    for (const stream of [child.stdout, child.stderr]) stream.on("data", (data: Buffer) => (text += data.toString()));
    const ended = once(child, "close");
    const stop = async (): Promise<void> => {
      child.kill("SIGTERM");
      await ended;
    };
    return { text: () => text, stop };
  }
  const variableOf = (flag: string): string =>
    `${name.toUpperCase()}_${flag === "private-key" ? "PRIVATE_KEY" : flag.toUpperCase().replace(/[.-]/g, "_")}`;
  /** Each secret option with a value, in one of the ways to give it; a remote signer and a key exclude each other. */
  const planted = (way: "flag" | "variable" | "file", without: RegExp): { args: string[]; env: Record<string, string> } => {
    const args = [...needs(path)];
    const env: Record<string, string> = {};
    for (const flag of secrets) {
      if (without.test(flag)) continue;
      const value = VALUES[flag]!.right;
      args.push(...(beside[flag] ?? []));
      if (way === "flag") args.push(`--${flag}=${value}`);
      if (way === "variable") env[variableOf(flag)] = value;
      if (way === "file") {
        writeFileSync(path(`${flag}.txt`), value, { mode: 0o600 });
        args.push(`--${flag}-file=${path(`${flag}.txt`)}`);
      }
    }
    return { args, env };
  };
  const expectNoTrace = (text: string): void => {
    for (const trace of TRACES) expect(text.toLowerCase()).not.toContain(trace.toLowerCase());
  };

  it("knows all secret options", () => {
    expect(secrets.sort()).toEqual([...expected].sort());
  });

  it.each([
    ["flag", /^signer/],
    ["file", /^signer/],
    ["variable", /key$/],
  ] as const)("are not in what `config print` says, given as %s (without %s)", (way, without) => {
    const { args, env } = planted(way, without);
    const { text, status } = said(["config", "print", ...args], env);
    // the certificates of a remote signer are not there
    const isRefused = secrets.includes("signer.header") && !without.test("signer.header");
    expect([status, text]).toEqual([isRefused ? 1 : 0, expect.any(String)]);
    if (secrets.some((flag) => !without.test(flag))) expect(text).toContain("(secret)");
    expectNoTrace(text);
    if (way === "variable") expectNoTrace(said(["--help"], env).text);
  });

  it("are not in errors about them", { tags: "long" }, () => {
    const each = (attempt: (flag: string, value: (typeof VALUES)[keyof typeof VALUES]) => readonly string[]): string[] =>
      secrets.flatMap((flag) => [...(beside[flag] ?? []), ...attempt(flag, VALUES[flag])]);
    for (const attempt of [
      each((flag, { wrong }) => [`--${flag}=${wrong}`]),
      each((flag, { right }) => [`--${flag}x=${right}`]),
      each((flag, { right }) => [`--${flag}=`, right]),
      each((flag, { right }) => [`--${flag}=${right}`, `--${flag}-file=${path("jwt")}`]),
      [`--rpc.port=${KEY}`, `--${KEY}`], // elsewhere, only texts as long as a key are recognised
    ]) {
      const { text } = said([...needs(path), ...attempt, "--nonsense"]);
      expectNoTrace(text);
      expect(text).toContain("--nonsense");
    }
  });

  it("are in nothing that it says while it runs: log, metrics, pages, answers, files, its end", async () => {
    const { args, env } = planted("flag", /^signer/);
    const metricsPort = await freePort();
    const all = [...args, "--log.level=trace", "--metrics.enabled", `--metrics.port=${metricsPort}`, "--metrics.addr=127.0.0.1"];
    const running = run(all, env);
    const get = async (url: string, init?: RequestInit): Promise<string> => {
      const response = await fetch(url, { signal: AbortSignal.timeout(2_000), ...init }).catch(() => undefined);
      return response === undefined ? "" : `${JSON.stringify([...response.headers])}${await response.text().catch(() => "")}`;
    };
    try {
      const metrics = () => get(`http://127.0.0.1:${metricsPort}/metrics`);
      await expect.poll(metrics).toContain("process_cpu_seconds_total");
      // it waits for its endpoints and says why, until it is asked to stop
      await expect.poll(running.text).toMatch(/127\.0\.0\.1:1\b/);
      const answers = [await metrics()];
      const ports = [...running.text().matchAll(/(?:port|url|dashboard|address)\S*?[=:]"?(?:http:\/\/[\d.]+:)?(\d{4,5})\b/gi)].map(
        ([, port]) => port,
      );
      for (const port of new Set(ports)) {
        const base = `http://127.0.0.1:${port}`;
        const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "rpc_modules", params: [] });
        const post = { method: "POST", headers: { "content-type": "application/json" }, body };
        answers.push(await get(base), await get(`${base}/healthz`), await get(`${base}/readyz`), await get(base, post));
      }
      expect(answers.filter((answer) => answer !== "").length).toBeGreaterThan(4);
      expectNoTrace(answers.join("\n"));
    } finally {
      await running.stop();
    }
    expect(running.text()).toMatch(/lvl=(?:debug|trace)/);
    expectNoTrace(running.text());
    for (const file of readdirSync(home, { recursive: true, withFileTypes: true })) {
      const isOurs = file.name === "jwt" || file.name === "sequencer" || file.name.endsWith(".txt");
      if (file.isFile() && !isOurs) expectNoTrace(readFileSync(join(file.parentPath, file.name), "latin1"));
    }
  });

  it("are not in the reason when a remote signer keeps it from starting", async () => {
    if (!secrets.includes("signer.header")) return;
    const { args } = planted("flag", /key$/);
    const { text, status } = said([...args, "--log.level=trace"]);
    expect(status).toBe(1);
    expect(text).toContain("--signer.tls.ca cannot be used");
    expectNoTrace(text);
    // it retries the signer until it is stopped
    const bare = [...args.filter((arg) => !arg.startsWith("--signer.endpoint")), "--signer.tls.enabled=false"];
    const running = run([...bare, `--signer.endpoint=${NOBODY}`], {});
    await expect.poll(running.text).toMatch(/the signer at http:\/\/127\.0\.0\.1:1 does not answer/);
    await running.stop();
    expectNoTrace(running.text());
  });
}
