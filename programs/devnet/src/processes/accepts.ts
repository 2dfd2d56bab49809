import { connect } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";

/** @param started settles when the program is completely started, or cannot be */
export async function untilAccepts(port: number, started: Promise<void>): Promise<void> {
  let isSettled = false;
  const settle = (): void => {
    isSettled = true;
  };
  const settled = started.then(settle, settle);
  while (!isSettled && !(await accepts(port))) await Promise.race([settled, sleep(50)]);
}

export function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ port, host: "127.0.0.1" });
    socket.once("connect", () => {
      socket.destroy();
      resolve(true);
    });
    socket.once("error", () => resolve(false));
  });
}
