import type { DropItem, L1Row } from "../messages.ts";
import { bytes, counted, shortHash, timeOf } from "./format.ts";
import { Nothing, Panel, Scroll } from "./parts.tsx";
import { type PipelineLine, pipelineLines, tally } from "./pipeline-rows.ts";
import { entriesOf, type ProgramView } from "./store.ts";

const MOST_LINES = 14;
const MOST_CHANNELS = 3;
const MOST_DROPS = 30;
const STAGES = ["L1 block", "Batcher data", "Frames", "Channels", "Batches", "Safe blocks"] as const;

/** From an L1 block through frames, channels and batches to safe blocks: a line for each L1 block, the newest first. */
export function Pipeline({ program }: { readonly program: ProgramView }) {
  const rows = entriesOf<L1Row>(program, "l1").map(([, row]) => row);
  const lines = pipelineLines(rows, MOST_LINES);
  return (
    <Panel title="Pipeline" note="what each L1 block brought, and what became of it">
      {lines.length === 0 ? (
        <Nothing>Derivation has read no L1 block since this program started.</Nothing>
      ) : (
        <Scroll label="Derivation by L1 block">
          <table class="pipeline">
            <thead>
              <tr>
                {STAGES.map((stage) => (
                  <th key={stage} scope="col">
                    {stage}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {lines.map((line) => (
                <Line key={line.kind === "block" ? line.row.number : `to ${line.to}`} line={line} />
              ))}
            </tbody>
          </table>
        </Scroll>
      )}
    </Panel>
  );
}

function Line({ line }: { readonly line: PipelineLine }) {
  if (line.kind === "empty") {
    const { from, to } = line;
    return (
      <tr class="empty">
        <th scope="row">{from === to ? from : `${from} – ${to}`}</th>
        <td colSpan={STAGES.length - 1}>nothing of the batcher</td>
      </tr>
    );
  }
  const { row } = line;
  const forms = tally([...new Set(row.data.map(({ source }) => (source === "blob" ? "blobs" : "calldata")))]);
  const refused = row.batches.filter(({ verdict }) => verdict !== "accept" && verdict !== "past");
  return (
    <tr class={row.dropCount > 0 ? "dropped" : undefined}>
      <th scope="row">{row.number}</th>
      <td>
        {row.dataCount > 0 && (
          <Step
            text={counted(row.dataCount, "item")}
            detail={`${bytes(row.dataBytes)} ${forms}`}
            title={row.data.map(({ transaction }) => transaction).join("\n")}
          />
        )}
      </td>
      <td>
        {row.frameCount > 0 && (
          <Step
            text={counted(row.frameCount, "frame")}
            detail={row.frames.some(({ isLast }) => isLast) ? "with a last one" : undefined}
          />
        )}
      </td>
      <td>
        {row.channels.slice(-MOST_CHANNELS).map(({ id, event, bytes: size }) => (
          <span key={id} class="channel" title={id}>
            <span class="mono">{id.slice(2, 10)}</span> <small>{size > 0 ? `${event}, ${bytes(size)}` : event}</small>
          </span>
        ))}
        {row.channels.length > MOST_CHANNELS && <small>and {row.channels.length - MOST_CHANNELS} more</small>}
      </td>
      <td>
        {row.batchCount > 0 && (
          <Step
            text={counted(row.batchCount, "batch", "batches")}
            detail={tally(row.batches.map(({ verdict }) => verdict))}
            title={row.batches
              .map(
                ({ type, blocks, verdict, transactions }) => `${type} batch of ${blocks}, ${transactions} transactions: ${verdict}`,
              )
              .join("\n")}
            isBad={refused.length > 0}
          />
        )}
      </td>
      <td>
        {row.safe !== undefined && (
          <Step
            text={row.safe.from === row.safe.to ? String(row.safe.to) : `${row.safe.from} – ${row.safe.to}`}
            detail={counted(row.safe.to - row.safe.from + 1, "block")}
            isSafe
          />
        )}
        {row.dropCount > 0 && <span class="chip bad">{counted(row.dropCount, "drop")}</span>}
      </td>
    </tr>
  );
}

interface StepProps {
  readonly text: string;
  readonly detail?: string | undefined;
  readonly title?: string | undefined;
  readonly isBad?: boolean;
  readonly isSafe?: boolean;
}

const Step = ({ text, detail, title, isBad, isSafe }: StepProps) => (
  <span class={`step${isBad ? " bad" : ""}${isSafe ? " safe" : ""}`} title={title}>
    <span>{text}</span>
    {detail !== undefined && <small>{detail}</small>}
  </span>
);

/** Data of the batcher that derivation dropped, with the reason and the loss, the newest first. */
export function Drops({ program }: { readonly program: ProgramView }) {
  const drops = entriesOf<DropItem>(program, "drop").reverse().slice(0, MOST_DROPS);
  return (
    <Panel title="Drops" note={drops.length === 0 ? undefined : counted(program.kinds.get("drop")!.size, "item")}>
      {drops.length === 0 ? (
        <Nothing>Nothing was dropped.</Nothing>
      ) : (
        <Scroll label="Dropped items">
          <ul class="drops">
            {drops.map(([key, { atMs, l1Block, what, reason, lost, transaction }]) => (
              <li key={key}>
                <p>
                  <strong>{reason}</strong> <span class="muted">{what}</span>
                </p>
                <p class="muted">
                  L1 block {l1Block} · {timeOf(atMs)}
                  {transaction !== undefined && (
                    <>
                      {" · "}
                      <span class="mono" title={transaction}>
                        {shortHash(transaction)}
                      </span>
                    </>
                  )}
                </p>
                <p>lost: {lost}</p>
              </li>
            ))}
          </ul>
        </Scroll>
      )}
    </Panel>
  );
}
