/** Yields between two pieces of work that take milliseconds each. */
export const yieldToOthers = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
