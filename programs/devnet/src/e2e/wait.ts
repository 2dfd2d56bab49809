/**
 * Polls until there is an answer.
 * @throws an error that names what was awaited, with the last error of a poll
 */
export async function waitFor<T>(what: string, timeoutMs: number, ask: () => Promise<T | undefined> | T | undefined): Promise<T> {
  const deadlineMs = Date.now() + timeoutMs;
  let lastError: unknown;
  for (;;) {
    try {
      const answer = await ask();
      if (answer !== undefined) return answer;
      lastError = undefined;
    } catch (error) {
      lastError = error;
    }
    if (Date.now() > deadlineMs) throw new Error(`waited ${timeoutMs / 1000} s for ${what}`, { cause: lastError });
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
}
