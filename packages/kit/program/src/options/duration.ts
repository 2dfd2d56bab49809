const UNIT_MS: Readonly<Record<string, number>> = {
  ns: 1e-6,
  us: 1e-3,
  µs: 1e-3,
  μs: 1e-3,
  ms: 1,
  s: 1000,
  m: 60_000,
  h: 3_600_000,
};

/** The milliseconds of a duration as Go writes it (`6m24s`, `1h0m0s`, `1.5s`, `-1s`, `0`); undefined if the text is not one. */
export function parseDurationMs(text: string): number | undefined {
  const sign = text.startsWith("-") ? -1 : 1;
  const body = /^[+-]/.test(text) ? text.slice(1) : text;
  if (body === "0") return 0;
  if (!/^(?:(?:\d+\.?\d*|\.\d+)(?:ns|us|µs|μs|ms|s|m|h))+$/.test(body)) return undefined;
  let totalMs = 0;
  for (const [, amount, unit] of body.matchAll(/(\d+\.?\d*|\.\d+)(ns|us|µs|μs|ms|s|m|h)/g)) {
    totalMs += Number(amount) * UNIT_MS[unit!]!;
  }
  return Number.isFinite(totalMs) ? sign * totalMs : undefined;
}

/** The shortest form that `parseDurationMs` reads back: 384000 is `6m24s`, 500 is `500ms`, 0 is `0s`. */
export function formatDurationMs(durationMs: number): string {
  if (durationMs === 0) return "0s";
  const sign = durationMs < 0 ? "-" : "";
  const total = Math.abs(durationMs);
  if (total < 1000) return `${sign}${total}ms`;
  const hours = Math.floor(total / 3_600_000);
  const minutes = Math.floor((total % 3_600_000) / 60_000);
  const seconds = (total % 60_000) / 1000;
  return `${sign}${hours > 0 ? `${hours}h` : ""}${minutes > 0 ? `${minutes}m` : ""}${seconds > 0 ? `${seconds}s` : ""}`;
}
