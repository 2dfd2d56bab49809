import type { PeersState } from "../messages.ts";
import { count, decimal, duration, shortHash } from "./format.ts";
import { Nothing, Panel, Table } from "./parts.tsx";
import { type ProgramView, stateOf } from "./store.ts";

/** Who the node is connected to, and who is banned and why. */
export function Peers({ program }: { readonly program: ProgramView }) {
  const state = stateOf<PeersState>(program, "peers");
  return (
    <Panel
      title="Peers"
      note={state === undefined ? undefined : `${count(state.connected)} connected, ${count(state.known)} known`}
    >
      {state === undefined || state.peers.length === 0 ? (
        <Nothing>{state === undefined ? "The network of peers is off, or not up yet." : "No peer is connected."}</Nothing>
      ) : (
        <Table
          label="Peers"
          head={[
            { text: "Peer" },
            { text: "Address" },
            { text: "" },
            { text: "Latency", isNumber: true },
            { text: "Score", isNumber: true },
          ]}
          rows={state.peers.map(({ id, address, direction, agent, latencyMs, score }) => ({
            key: id,
            cells: [
              <span class="mono" title={`${id} ${agent}`}>
                {shortHash(id)}
              </span>,
              address.replace(/^\/ip[46]\/(.*)\/tcp\//, "$1:"),
              direction,
              latencyMs === 0 ? "–" : `${latencyMs.toFixed(1)} ms`,
              decimal(score),
            ],
          }))}
        />
      )}
      {state !== undefined && state.bans.length > 0 && (
        <ul class="drops">
          {state.bans.map(({ banned, secondsLeft, reason }) => (
            <li key={banned}>
              <strong>banned</strong> <span class="mono">{shortHash(banned)}</span> for {duration(secondsLeft)}
              {reason === "" ? "" : `: ${reason}`}
            </li>
          ))}
        </ul>
      )}
    </Panel>
  );
}
