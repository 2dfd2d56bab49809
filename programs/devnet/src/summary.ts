import type { Devnet } from "./devnet.ts";

/** The addresses and accounts that a user of the devnet needs. */
export function summaryOf({ info, isNew, dashboard, programs, cluster }: Devnet, datadir: string, tookMs: number): string {
  const { endpoints, contracts } = info;
  const names = new Map(Object.entries(info.roles).map(([role, index]) => [index as number, role]));
  return [
    "",
    `${isNew ? "A new chain is" : "The chain goes on and is"} up after ${(tookMs / 1000).toFixed(1)} s.`,
    "",
    "Endpoints",
    rows([
      [`L1 (chain ${info.l1ChainId})`, [endpoints.l1, endpoints.l1Ws ?? ""].join("  ").trimEnd()],
      ...(endpoints.l1Beacon ? [["L1 beacon API", `${endpoints.l1Beacon}/eth/v1/`] as const] : []),
      [`L2 sequencer (chain ${info.l2ChainId})`, `${endpoints.sequencer.http}  ${endpoints.sequencer.ws}`],
      ...(endpoints.leader ? [["L2, whichever sequencer leads", endpoints.leader] as const] : []),
      ["L2 verifier", `${endpoints.verifier.http}  ${endpoints.verifier.ws}`],
      ...(endpoints.follower ? [["L2 follower", `${endpoints.follower.http}  ${endpoints.follower.ws}`] as const] : []),
      ["rnode of the sequencer", endpoints.sequencer.node],
      ["rnode of the verifier", endpoints.verifier.node],
      ...(endpoints.follower ? [["rnode of the follower", endpoints.follower.node] as const] : []),
      ["rbatcher", endpoints.batcher],
      ["rproposer", endpoints.proposer],
      ...(endpoints.daServer ? [["rda-server", endpoints.daServer] as const] : []),
      ...(dashboard === undefined ? [] : [["Dashboard, for a browser", dashboard] as const]),
    ]),
    "",
    ...(info.p2p === undefined ? [] : ["P2P, each node connected to the one above it", rows(Object.entries(info.p2p)), ""]),
    info.l1 === "external"
      ? "Accounts, funded on the L2"
      : "Accounts, funded on both chains (keys are public: never use them elsewhere)",
    rows(info.accounts.map(({ address, privateKey }, index) => [`${address}  ${privateKey}`, names.get(index) ?? ""])),
    "",
    "Contracts on L1",
    rows(Object.entries(contracts.l1)),
    "",
    "Contracts on L2",
    rows(Object.entries(contracts.l2)),
    "",
    `Logs and devnet.json (all of the above) are in ${datadir}; programs: ${[
      ...Object.values(programs),
      ...(cluster?.programs.map(({ program }) => program) ?? []),
    ]
      .map(({ spec, pid }) => `${spec.name} ${pid ?? "-"}`)
      .join(", ")}`,
    "Ctrl-C stops everything.",
    "",
  ].join("\n");
}

/** Names and values in two columns. */
export function rows(entries: readonly (readonly [string, string])[]): string {
  const width = Math.max(...entries.map(([name]) => name.length));
  return entries.map(([name, value]) => `  ${name.padEnd(width)}  ${value}`).join("\n");
}
