/** One thing in which our program and one in Go must agree. */
export interface InteropCase<Stage> {
  readonly name: string;
  readonly run: (stage: Stage) => Promise<void>;
}

/**
 * Each case has its own stage, and its resources are closed after it in any case, the last one first.
 *
 * @param stageOf gets a function that registers a resource's close
 * @returns numbers of passed and failed cases
 */
export async function runCases<Stage>(
  cases: readonly InteropCase<Stage>[],
  stageOf: (onClose: (close: () => Promise<unknown>) => void) => Stage,
  print: (line: string) => void,
): Promise<{ passed: number; failed: number }> {
  const counts = { passed: 0, failed: 0 };
  for (const { name, run } of cases) {
    const closers: (() => Promise<unknown>)[] = [];
    try {
      await run(stageOf((close) => closers.push(close)));
      counts.passed++;
      print(`  passed  ${name}`);
    } catch (error) {
      counts.failed++;
      print(`  FAILED  ${name}: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`);
    }
    for (const close of closers.reverse()) await close();
  }
  return counts;
}
