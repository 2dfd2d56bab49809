import type { BatcherState, BatchTxItem } from "../messages.ts";
import { bytes, count, counted, ether, shortHash, timeOf } from "./format.ts";
import { Figure, Nothing, Panel, Table } from "./parts.tsx";
import { entriesOf, type ProgramView, stateOf } from "./store.ts";

const LISTED = 10;

/** What was posted on L1, and what it cost. */
export function Batches({ program }: { readonly program: ProgramView }) {
  const state = stateOf<BatcherState>(program, "batcher");
  const transactions = entriesOf<BatchTxItem>(program, "batchTx");
  const paid = transactions.flatMap(([, { costEther, bytes: size }]) => (costEther === undefined ? [] : [{ costEther, size }]));
  const cost = paid.reduce((sum, { costEther }) => sum + costEther, 0);
  const size = paid.reduce((sum, item) => sum + item.size, 0);
  return (
    <Panel title="Batches" isWide note={state === undefined ? undefined : state.isPublishing ? "publishing" : "stopped"}>
      <dl class="figures">
        <Figure label="Blocks waiting" value={count(state?.pendingBlocks)} detail={bytes(state?.pendingBytes)} />
        <Figure label={`Cost of the last ${paid.length}`} value={ether(paid.length === 0 ? undefined : cost)} />
        <Figure label="Cost of a kB" value={ether(size === 0 ? undefined : (cost / size) * 1000)} />
        <Figure label="Balance" value={ether(state?.balanceEther)} />
      </dl>
      {transactions.length === 0 ? (
        <Nothing>No batch was posted since this program started.</Nothing>
      ) : (
        <Table
          label="Batcher transactions"
          head={[
            { text: "Time" },
            { text: "Transaction" },
            { text: "Stage" },
            { text: "Form" },
            { text: "Frames", isNumber: true },
            { text: "Size", isNumber: true },
            { text: "L1 block", isNumber: true },
            { text: "Cost", isNumber: true },
          ]}
          rows={transactions
            .slice(-LISTED)
            .reverse()
            .map(([key, { atMs, hash, stage, form, frames, bytes: length, l1Block, costEther }]) => ({
              key,
              kind: stage === "failed" ? "dropped" : undefined,
              cells: [
                timeOf(atMs),
                <span class="mono" title={hash}>
                  {hash === undefined ? "–" : shortHash(hash)}
                </span>,
                stage,
                form,
                count(frames),
                bytes(length),
                count(l1Block),
                ether(costEther),
              ],
            }))}
        />
      )}
      {paid.length > 0 && <p class="muted">{counted(paid.length, "transaction")} on L1 since this page knows of the program.</p>}
    </Panel>
  );
}
