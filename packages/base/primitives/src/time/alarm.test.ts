import { expect, test } from "vitest";
import { Alarm } from "./alarm.ts";

test("an alarm wakes everybody who listens, once", () => {
  const alarm = new Alarm();
  const woken: string[] = [];
  const second = (): void => void woken.push("second");
  alarm.addEventListener("abort", () => woken.push("first"));
  alarm.addEventListener("abort", second);
  alarm.addEventListener("abort", second);
  const gone = (): void => void woken.push("gone");
  alarm.addEventListener("abort", gone);
  alarm.removeEventListener("abort", gone);
  expect(alarm.aborted).toBe(false);
  alarm.ring();
  alarm.ring();
  expect(alarm.aborted).toBe(true);
  expect(woken).toEqual(["first", "second"]);
});

test("a listener that stops listening while the alarm rings does not disturb the others", () => {
  const alarm = new Alarm();
  const woken: number[] = [];
  for (const id of [1, 2, 3]) {
    const listener = (): void => {
      alarm.removeEventListener("abort", listener);
      woken.push(id);
    };
    alarm.addEventListener("abort", listener);
  }
  alarm.ring();
  expect(woken).toEqual([1, 2, 3]);
});
