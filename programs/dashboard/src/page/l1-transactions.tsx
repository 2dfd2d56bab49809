import type { L1TxItem, StatusState } from "../messages.ts";
import { bytes, count, ether, inWords, shortHash, timeOf } from "./format.ts";
import { Figure, Nothing, Panel, Table } from "./parts.tsx";
import { entriesOf, type ProgramView, stateOf } from "./store.ts";

const LISTED = 10;
const GOOD: readonly string[] = ["published", "confirmed", "cancelled"];

/** They are shown above. */
const HEADS: readonly string[] = ["l1Head", "unsafe", "safe", "finalized"];

/** The L1 transactions of a program, with their status and cost. */
export function L1Transactions({ program, title }: { readonly program: ProgramView; readonly title: string }) {
  const status = stateOf<StatusState>(program, "status") ?? {};
  const transactions = entriesOf<L1TxItem>(program, "l1tx");
  const paid = transactions.flatMap(([, { costEther, bytes: size }]) => (costEther === undefined ? [] : [{ costEther, size }]));
  const cost = paid.reduce((sum, { costEther }) => sum + costEther, 0);
  const size = paid.reduce((sum, item) => sum + item.size, 0);
  const numbers = Object.entries(status).filter(([name, value]) => typeof value === "number" && !HEADS.includes(name));
  const { waitingFor, trouble } = status;
  return (
    <Panel title={title} isWide note={trouble ?? (waitingFor === undefined ? undefined : `waits for ${waitingFor}`)}>
      <dl class="figures amounts">
        {paid.length > 0 && <Figure label={`Cost of the last ${paid.length}`} value={ether(cost)} />}
        {paid.length > 0 && <Figure label="Cost of a kB" value={ether(size === 0 ? undefined : (cost / size) * 1000)} />}
        {numbers.map(([name, value]) => (
          <Figure key={name} label={inWords(name)} value={/ether$/i.test(name) ? ether(Number(value)) : count(Number(value))} />
        ))}
      </dl>
      {transactions.length === 0 ? (
        <Nothing>Nothing was sent to L1 since this program started.</Nothing>
      ) : (
        <Table
          label={`${title}: transactions`}
          head={[
            { text: "Time" },
            { text: "Transaction" },
            { text: "Stage" },
            { text: "Form" },
            { text: "Size", isNumber: true },
            { text: "L1 block", isNumber: true },
            { text: "Cost", isNumber: true },
          ]}
          rows={transactions
            .slice(-LISTED)
            .reverse()
            .map(([key, { atMs, hash, stage, form, bytes: length, l1Block, costEther }]) => ({
              key,
              kind: GOOD.includes(stage) ? undefined : "dropped",
              cells: [
                timeOf(atMs),
                <span class="mono" title={hash}>
                  {hash === undefined ? "–" : shortHash(hash)}
                </span>,
                stage,
                form,
                bytes(length),
                count(l1Block),
                ether(costEther),
              ],
            }))}
        />
      )}
    </Panel>
  );
}
