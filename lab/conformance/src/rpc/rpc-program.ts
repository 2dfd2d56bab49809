import { type ChildProcess, spawn } from "node:child_process";
import { createHmac } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";

/** The profile in which `rengine` answers (docs/faces.md). */
export type ProfileName = "R" | "G";

/** The files of the suite with which a client under test is started. */
export interface RpcChain {
  readonly genesisPath: string;
  /** RLP blocks after the genesis */
  readonly blocksPath: string;
  /** Engine API request that makes the last block the head, and also safe and finalized */
  readonly headRequestPath: string;
}

/** A client under test. */
export interface RpcClientUnderTest {
  readonly url: string;
  stop(): Promise<void>;
}

const NAMESPACES = "eth,net,web3,debug,txpool,testing";
const START_TIMEOUT_MS = 60_000;

/**
 * Runs `rengine` as a user would: imports the blocks, starts the client, and chooses the head through the Engine API.
 *
 * @param program path of `rengine`'s start file
 * @throws Error with the program's output
 */
export async function startRengine(program: string, chain: RpcChain, profile: ProfileName): Promise<RpcClientUnderTest> {
  const folder = mkdtempSync(join(tmpdir(), "rnode-rpc-suite-"));
  const remove = (): void => rmSync(folder, { recursive: true, force: true });
  const common = [`--chain=${chain.genesisPath}`, `--datadir=${join(folder, "data")}`];
  try {
    await runToEnd(program, ["import", ...common, chain.blocksPath]);
    const ports = ["--http", "--http.port=0", `--http.api=${NAMESPACES}`, "--authrpc.port=0", "--max-peers=0"];
    const child = spawn(process.execPath, [program, ...common, ...ports, `--profile=${profile}`, "--log.format=json"], {
      stdio: ["ignore", "ignore", "pipe"],
    });
    const stop = async (): Promise<void> => {
      await stopped(child);
      remove();
    };
    try {
      const { httpPort, enginePort } = await portsOf(child);
      await chooseHead(`http://127.0.0.1:${enginePort}`, join(folder, "data", "jwt.hex"), chain.headRequestPath);
      return { url: `http://127.0.0.1:${httpPort}`, stop };
    } catch (error) {
      await stop();
      throw error;
    }
  } catch (error) {
    remove();
    throw error;
  }
}

/** Sends a JSON-RPC body unchanged. @returns the answer's envelope */
export async function postJson(url: string, body: unknown, headers: Readonly<Record<string, string>> = {}): Promise<unknown> {
  const response = await fetch(url, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: JSON.stringify(body),
    signal: AbortSignal.timeout(30_000),
  });
  return await response.json();
}

function runToEnd(program: string, args: readonly string[]): Promise<void> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [program, ...args], { stdio: ["ignore", "ignore", "pipe"] });
    let said = "";
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      said += text;
    });
    child.on("error", reject);
    child.on("close", (code) => (code === 0 ? resolve() : reject(new Error(`rengine ${args[0]} failed: ${said.trim()}`))));
  });
}

/** Reads the program's log until both listeners have been announced. */
async function portsOf(child: ChildProcess): Promise<{ readonly httpPort: number; readonly enginePort: number }> {
  const timer = setTimeout(() => child.kill("SIGKILL"), START_TIMEOUT_MS);
  let httpPort: number | undefined;
  let enginePort: number | undefined;
  const said: string[] = [];
  const lines = createInterface({ input: child.stderr! });
  try {
    for await (const line of lines) {
      const entry = parseLine(line);
      if (entry === undefined) said.push(line);
      else if (entry.msg === "HTTP JSON-RPC listens") httpPort = entry.port;
      else if (entry.msg === "Engine API listens") enginePort = entry.port;
      if (httpPort !== undefined && enginePort !== undefined) return { httpPort, enginePort };
    }
  } finally {
    clearTimeout(timer);
    child.stderr!.resume(); // later log output must not fill the pipe
  }
  throw new Error(`rengine did not start: ${said.join(" ").trim() || "it said nothing"}`);
}

function parseLine(line: string): { readonly msg?: string; readonly port?: number } | undefined {
  try {
    return JSON.parse(line) as { msg?: string; port?: number };
  } catch {
    return undefined;
  }
}

async function chooseHead(url: string, secretPath: string, requestPath: string): Promise<void> {
  const secret = Buffer.from(readFileSync(secretPath, "utf8").trim().replace(/^0x/, ""), "hex");
  const request: unknown = JSON.parse(readFileSync(requestPath, "utf8"));
  const answer = await postJson(url, request, { authorization: `Bearer ${engineToken(secret)}` });
  const { result } = answer as { result?: { payloadStatus?: { status?: string } } };
  if (result?.payloadStatus?.status !== "VALID") throw new Error(`${requestPath}: answered ${JSON.stringify(answer)}`);
}

/** Engine API authentication: a JWT with the time it was issued, HMAC-SHA-256. */
function engineToken(secret: Uint8Array): string {
  const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString("base64url");
  const signed = `${part({ alg: "HS256", typ: "JWT" })}.${part({ iat: Math.floor(Date.now() / 1000) })}`;
  return `${signed}.${createHmac("sha256", secret).update(signed).digest("base64url")}`;
}

function stopped(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return Promise.resolve();
  return new Promise((resolve) => {
    child.once("close", () => resolve());
    child.kill("SIGTERM");
  });
}
