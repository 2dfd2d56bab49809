import type { SetChainItem, SetState } from "../messages.ts";
import { count, counted, timeOf } from "./format.ts";
import { Nothing, Panel, Table } from "./parts.tsx";
import { type ProgramView, stateOf } from "./store.ts";

/** The chains of a set: how far each is, what verification waits for, and the messages between them. */
export function SetOfChains({ program }: { readonly program: ProgramView }) {
  const state = stateOf<SetState>(program, "set");
  if (state === undefined) return null;
  const { chains, waitsFor, failsafe, messages, recent, denied } = state;
  return (
    <Panel title="Set of chains" isWide note={waitsFor === undefined ? "Verifying." : `Waits for ${waitsFor}.`}>
      {failsafe.map((reason) => (
        <p key={reason} class="stale" role="alert">
          <strong>All messages are refused:</strong> {reason}
        </p>
      ))}
      <Table
        label="Heads of each chain"
        head={[
          { text: "Chain" },
          { text: "Unsafe", isNumber: true },
          { text: "Cross-unsafe", isNumber: true },
          { text: "Local-safe", isNumber: true },
          { text: "Cross-safe", isNumber: true },
          { text: "Finalized", isNumber: true },
          { text: "Waits for" },
        ]}
        rows={chains.map((chain) => ({
          key: chain.chain,
          cells: [
            chain.chain,
            count(chain.unsafe?.number),
            count(chain.crossUnsafe),
            count(chain.localSafe?.number),
            count(chain.crossSafe),
            count(chain.finalized?.number),
            waitOf(chain, chains),
          ],
        }))}
      />
      <h3 class="sub">
        Verified messages:{" "}
        {messages.length === 0
          ? "none since the start"
          : messages.map(({ from, to, count: total }) => `${from} → ${to} ${count(total)}`).join(", ")}
      </h3>
      {recent.length === 0 ? (
        <Nothing>Messages appear when their executing blocks are cross-safe.</Nothing>
      ) : (
        <Table
          label="Verified messages"
          head={[
            { text: "Time" },
            { text: "From" },
            { text: "Block", isNumber: true },
            { text: "To" },
            { text: "In block", isNumber: true },
          ]}
          rows={recent.toReversed().map(({ from, fromBlock, to, toBlock, timeSec }, index) => ({
            key: recent.length - index,
            cells: [timeOf(timeSec * 1000), from, count(fromBlock), to, count(toBlock)],
          }))}
        />
      )}
      {denied.length > 0 && (
        <>
          <h3 class="sub">Blocks with an invalid message: replaced by their deposits</h3>
          <Table
            label="Replaced blocks"
            head={[{ text: "Chain" }, { text: "Block", isNumber: true }, { text: "Why" }]}
            rows={denied.map(({ chain, block, reason }) => ({
              key: `${chain} ${block} ${reason}`,
              kind: "dropped",
              cells: [chain, count(block), reason],
            }))}
          />
        </>
      )}
    </Panel>
  );
}

/** What keeps a chain's local-safe blocks from being cross-safe. */
function waitOf({ chain, isWaitedFor, localSafe, crossSafe }: SetChainItem, chains: readonly SetChainItem[]): string {
  if (isWaitedFor) return "its batches on L1";
  const behind = (localSafe?.number ?? 0) - (crossSafe ?? 0);
  if (behind <= 0) return "";
  const others = chains.filter((other) => other.isWaitedFor && other.chain !== chain).map((other) => other.chain);
  return others.length === 0 ? "" : `chain ${others.join(", ")}, with ${counted(behind, "block")}`;
}
