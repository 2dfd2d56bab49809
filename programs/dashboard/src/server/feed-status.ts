import type { Feed, LogFields } from "@rnode/observe";
import type { Readiness } from "@rnode/program";
import type { StatusState } from "../messages.ts";

/** Shows the fields of a program's status line. `trouble` is why it is not ready, and so is `waitingFor` if there is nothing else to say. */
export function feedStatus(feed: Feed, readiness: Pick<Readiness, "expect">, status: () => LogFields): void {
  feed.state("status", () => plain(status()));
  readiness.expect(() => {
    const { waitingFor, trouble, ...others } = plain(status());
    if (trouble !== undefined) return [String(trouble)];
    return waitingFor === undefined || Object.keys(others).length > 0 ? [] : [`it waits for ${waitingFor}`];
  });
}

const plain = (fields: LogFields): StatusState =>
  Object.fromEntries(
    Object.entries(fields).flatMap(([name, value]) => {
      const shown = shownOf(value);
      return shown === undefined ? [] : [[name, shown]];
    }),
  );

function shownOf(value: unknown): StatusState[string] | undefined {
  switch (typeof value) {
    case "string":
    case "number":
    case "boolean":
      return value;
    case "bigint":
      return Number(value);
    default:
      return undefined;
  }
}
