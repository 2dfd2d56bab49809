import { parseOptions, referenceTable } from "@rnode/program";
import { describe, expect, it } from "vitest";
import { rconductorOptions } from "./options.ts";

const REQUIRED = ["--etcd=http://127.0.0.1:2379", "--rollup-rpc=http://127.0.0.1:7545", "--execution-rpc=http://127.0.0.1:8545"];

function parse(args: readonly string[], env: Record<string, string> = {}): string | Record<string, unknown> {
  const parsed = parseOptions(rconductorOptions, [...REQUIRED, ...args], env);
  if (parsed.kind !== "options") return parsed.kind === "error" ? parsed.faults.join("\n") : parsed.kind;
  const { server, etcd, health, rpc } = parsed.options;
  return { ...server, ...etcd, ...health, rpcPort: rpc.port, enableProxy: rpc.enableProxy };
}

describe("rconductor's options", () => {
  it("have upstream's defaults where it has any", () => {
    expect(parse([])).toMatchObject({
      paused: false,
      bootstrap: false,
      safeEnabled: false,
      safeIntervalSec: 1200,
      rpcPort: 8547,
      enableProxy: true,
      leaseTtlSec: 3,
    });
  });

  it("come under upstream's names, too", () => {
    const args = ["--raft.server.id=sequencer-1", "--raft.bootstrap", "--healthcheck.interval=2", "--healthcheck.min-peer-count=3"];
    expect(parse(args, { RCONDUCTOR_HEALTHCHECK_UNSAFE_INTERVAL: "30" })).toMatchObject({
      serverId: "sequencer-1",
      bootstrap: true,
      intervalSec: 2,
      minPeerCount: 3,
      unsafeIntervalSec: 30,
    });
  });

  it.each<[string, string[], string]>([
    ["an id that is no word", ["--server-id=a/b"], "--server-id: "],
    ["a prefix without its end", ["--etcd.prefix=/chain"], "--etcd.prefix: "],
    ["a key without its certificate", ["--etcd.key=/tmp/key.pem"], "--etcd.key needs --etcd.cert: give that as well"],
    ["a password without its user", ["--etcd.password=x"], "--etcd.password needs --etcd.username: give that as well"],
    ["a password in a URL", ["--etcd=http://user:secret@127.0.0.1:2379"], "give it with --etcd.username and --etcd.password-file"],
    [
      "peers counted in another way",
      ["--healthcheck.execution-p2p-enabled", "--healthcheck.execution-p2p-check-api=eth"],
      "net, admin",
    ],
    ["no lease", ["--etcd.lease-ttl=0"], "expected a whole number from 1 to 600"],
  ])("refuse %s", (_, args, message) => {
    expect(parse(args)).toContain(message);
  });
});

describe("OPTIONS.md", () => {
  it("is what the table says (vitest -u writes it)", async () => {
    const table = referenceTable(rconductorOptions);
    const page = `# Options of \`rconductor\`\n\nMade from \`src/options.ts\`. Flags beat variables; an empty variable is unset.\n\n${table}`;
    await expect(page).toMatchFileSnapshot("../OPTIONS.md");
  });
});
