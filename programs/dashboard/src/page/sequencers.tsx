import type { StatusState } from "../messages.ts";
import { count } from "./format.ts";
import { Panel, Table } from "./parts.tsx";
import { conditionOf, type ProgramView, stateOf } from "./store.ts";

/** Which of several sequencers leads, and whether the others could: one row for each conductor. */
export function Sequencers({ conductors }: { readonly conductors: readonly ProgramView[] }) {
  const rows = conductors.flatMap((program) => {
    const status = stateOf<StatusState>(program, "status");
    return status?.isLeader === undefined ? [] : [{ program, status, isDown: conditionOf(program).condition === "down" }];
  });
  if (rows.length === 0) return null;
  const leader = rows.find(({ status, isDown }) => status.isLeader === true && !isDown);
  const note = leader === undefined ? "Nobody leads." : `${leader.program.name} leads.`;
  return (
    <Panel title="Sequencers" isWide note={note}>
      <Table
        label="Sequencers"
        head={[
          { text: "Conductor" },
          { text: "Part" },
          { text: "Sequencer" },
          { text: "Health" },
          { text: "Committed block", isNumber: true },
          { text: "Fencing token", isNumber: true },
          { text: "Control" },
          { text: "Trouble" },
        ]}
        rows={rows.map(({ program, status, isDown }) => ({
          key: program.id,
          kind: isDown ? "dropped" : undefined,
          cells: [
            program.name,
            isDown ? "down" : status.isLeader === true ? "leads" : "follows",
            isDown ? "–" : status.sequencer,
            isDown ? "–" : status.health,
            count(status.committedBlock as number | undefined),
            count(status.fence as number | undefined),
            status.control,
            status.trouble ?? "",
          ],
        }))}
      />
    </Panel>
  );
}
