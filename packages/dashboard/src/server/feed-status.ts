import type { Feed, LogFields } from "@rnode/observe";
import type { Readiness } from "@rnode/program";
import type { StatusState } from "../messages.ts";

/** Shows the fields of a program's status line; `waitingFor` and `trouble` among them are why it is not ready. */
export function feedStatus(feed: Feed, readiness: Pick<Readiness, "expect">, status: () => LogFields): void {
  feed.state("status", () => plain(status()));
  readiness.expect(() => {
    const { waitingFor, trouble } = plain(status());
    return [
      ...(waitingFor === undefined ? [] : [`it waits for ${waitingFor}`]),
      ...(trouble === undefined ? [] : [String(trouble)]),
    ];
  });
}

const plain = (fields: LogFields): StatusState =>
  Object.fromEntries(
    Object.entries(fields).flatMap(([name, value]) =>
      value === undefined
        ? []
        : [
            [
              name,
              typeof value === "number" || typeof value === "boolean"
                ? value
                : typeof value === "bigint"
                  ? Number(value)
                  : String(value),
            ],
          ],
    ),
  );
