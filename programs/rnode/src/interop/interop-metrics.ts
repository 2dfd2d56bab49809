import type { MetricFactory } from "@rnode/observe";
import type { EventKind } from "./managed-event.ts";

/** What passes between the node and its supervisor. */
export function createInteropMetrics(factory: MetricFactory, isSubscribed: () => boolean) {
  factory.gaugeOf("interop_supervisor_connected", "1 while a supervisor is subscribed to the events.", () =>
    isSubscribed() ? 1 : 0,
  );
  return {
    events: factory.counter<{ kind: EventKind }>("interop_events_total", "Events for the supervisor, by kind.", ["kind"]),
    droppedEvents: factory.counter(
      "interop_dropped_events_total",
      "Events that were dropped because no supervisor was subscribed and too many waited.",
    ),
    commands: factory.counter<{ command: string }>("interop_commands_total", "Commands of the supervisor, by name.", ["command"]),
    refusedCommands: factory.counter<{ command: string }>(
      "interop_refused_commands_total",
      "Commands of the supervisor that were not carried out, by name.",
      ["command"],
    ),
    replacedBlocks: factory.counter("interop_replaced_blocks_total", "Blocks with invalid messages that were replaced."),
  };
}

export type InteropMetrics = ReturnType<typeof createInteropMetrics>;
